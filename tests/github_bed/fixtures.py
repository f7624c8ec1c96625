"""The fixtures: `github` (a repository on the bed's GitHub), `act` (the runner), `payloads`."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.github_bed import npm
from tests.github_bed.bed import GitHubBed
from tests.github_bed.contract import Contract
from tests.github_bed.emulator import Emulator
from tests.github_bed.graphql import Graph
from tests.github_bed.proxy import Proxy
from tests.github_bed.runner import Act

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def github_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """emulate and the judge before it; one of each a session, stopped at its end."""
    contract, graph = Contract(), Graph()
    emulator = Emulator.start(tmp_path_factory.mktemp("emulate"))
    patch = pytest.MonkeyPatch()
    for name in ("NO_PROXY", "no_proxy"):  # a proxy of the machine is not for loopback
        patch.setenv(name, "127.0.0.1,localhost", prepend=",")
    try:
        proxy = Proxy(emulator, contract, graph)
        try:
            yield proxy
        finally:
            proxy.stop()
    finally:
        patch.undo()
        emulator.stop()


@pytest.fixture
def github(github_server: Proxy) -> Iterator[GitHubBed]:
    """A fresh repository; fails the test when anything broke GitHub's contract meanwhile."""
    state = github_server.state
    bed = GitHubBed(github_server)
    state.exchanges.clear()
    state.violations.clear()
    state.artifact_folder = None
    for kept in (state.artifacts, state.reviews, state.pinned, state.listed_runs, state.reruns):
        kept.clear()
    yield bed
    bed.behave()
    bed.make_up(())
    assert not state.violations, "GitHub's contract was broken:\n" + "\n".join(state.violations)


@pytest.fixture
def act(tmp_path: Path) -> Act:
    """Runs workflows in this test's own folder."""
    return Act(tmp_path)


@pytest.fixture(scope="session")
def payloads() -> dict[str, list[dict[str, Any]]]:
    """GitHub's own examples of webhook payloads, by event name."""
    return _payloads()


@functools.cache
def _payloads() -> dict[str, list[dict[str, Any]]]:
    found = json.loads(npm.data_file(npm.WEBHOOKS).read_bytes())
    return {event["name"]: event["examples"] for event in found}
