from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.launch.builds import release_builds
from tests.fork import Fork, new_fork
from tests.integration.bench.ray_bed import Nodes, cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache and locks of this test's own."""
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CIWM_LOCK_DIR", str(tmp_path / "locks"))
    yield
    release_builds()


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    return new_fork(tmp_path)


@pytest.fixture
def step_s() -> float:
    """Seconds of a step on the nodes of a cluster."""
    return 0.05


@pytest.fixture
def nodes(tmp_path: Path, step_s: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    with cluster(tmp_path, step_s, monkeypatch) as made:
        yield made


@pytest.fixture
def nodes_with_cards(
    tmp_path: Path, step_s: float, nvml_library: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Nodes]:
    """A card each, of which only its own node knows."""
    with cluster(tmp_path, step_s, monkeypatch, nvml_library) as made:
        yield made
