"""Which upstream `ciwm ci` compares with, inside and outside of GitHub Actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.config import UpstreamConfig
from ciwm.errors import GitError, UsageError
from ciwm.git import Repository
from ciwm.story.upstream_side import UpstreamSide, upstream_side
from ciwm.upstream.pair import upstream_ref
from tests.integration.test_job import commit, git

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    path = tmp_path / "up"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    commit(path, "")
    return path


@pytest.fixture
def fork(tmp_path: Path, upstream: Path) -> Path:
    git(tmp_path, "clone", "-q", "-o", "mine", str(upstream), "fork")
    commit(upstream, "# newer\n")
    return tmp_path / "fork"


def side(fork: Path, config: UpstreamConfig, **how: bool) -> tuple[UpstreamSide, list[str]]:
    lines: list[str] = []
    asked = {"fetch": True, "must_fetch": False, **how}
    return upstream_side(Repository.open(fork), config, lines.append, **asked), lines


def test_a_configured_address_is_fetched_into_our_ref_alone(fork: Path, upstream: Path) -> None:
    before = git(fork, "for-each-ref", "refs/remotes")
    found, _ = side(fork, UpstreamConfig(url=str(upstream)))
    assert found.ref == "refs/ciwm/upstream"
    assert git(fork, "rev-parse", found.ref) == git(upstream, "rev-parse", "main")
    assert git(fork, "for-each-ref", "refs/remotes") == before


def test_a_remote_named_upstream_needs_no_configuration(fork: Path, upstream: Path) -> None:
    assert side(fork, UpstreamConfig())[0].ref is None
    git(fork, "remote", "rename", "mine", "upstream")
    found, _ = side(fork, UpstreamConfig())
    assert (found.ref, found.name) == ("refs/ciwm/upstream", "upstream/main")
    assert git(fork, "rev-parse", "refs/ciwm/upstream") == git(upstream, "rev-parse", "main")


def test_the_remotes_own_branch_is_taken_where_none_is_stated(fork: Path, upstream: Path) -> None:
    git(upstream, "branch", "-m", "main", "master")
    git(fork, "fetch", "-q", "--prune", "mine")
    found, _ = side(fork, UpstreamConfig(remote="mine"))
    assert found.name == "mine/master"
    assert git(fork, "rev-parse", "refs/ciwm/upstream") == git(upstream, "rev-parse", "master")


def test_without_fetching_an_address_that_is_not_here_is_a_reason(fork: Path) -> None:
    config = UpstreamConfig(url="https://user:secret@example.org/up")
    found, _ = side(fork, config, fetch=False)
    assert found.ref is None
    assert "https://example.org/up/main is not here" in found.why_not
    assert "--fetch" in found.why_not


def test_without_fetching_the_remote_with_the_address_will_do(fork: Path, upstream: Path) -> None:
    found, _ = side(fork, UpstreamConfig(url=str(upstream)), fetch=False)
    assert found.ref == "mine/main"


def test_out_of_reach_upstream_stops_a_job_of_actions_but_nobody_else(
    fork: Path, upstream: Path
) -> None:
    upstream.rename(upstream.with_name("away"))
    config = UpstreamConfig(remote="mine")
    found, lines = side(fork, config)
    assert found.ref == "mine/main"
    assert any(line.startswith("warning:") and "what is here" in line for line in lines)
    with pytest.raises(GitError):
        side(fork, config, must_fetch=True)


def test_sync_report_names_the_fetch_of_an_address_no_remote_has(fork: Path) -> None:
    config = UpstreamConfig(url="https://user:secret@example.org/up", branch="dev")
    with pytest.raises(UsageError, match="was not fetched") as raised:
        upstream_ref(Repository.open(fork), config)
    assert "secret" not in raised.value.message + raised.value.hint
    assert "git remote add upstream https://example.org/up && git fetch upstream dev" in (
        raised.value.hint
    )
