"""Which two revisions an event means, in real repositories."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from ciwm.actions import PullRequest
from ciwm.config import UpstreamConfig
from ciwm.errors import GitError, UsageError
from ciwm.git import Repository
from ciwm.story.revisions import (
    BASE_REF,
    UPSTREAM_REF,
    fetch_origin,
    fetch_upstream,
    named,
    of_pull_request,
    of_push,
)

if TYPE_CHECKING:
    from pathlib import Path


def git(path: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    done = subprocess.run(command, cwd=path, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(path: Path, name: str) -> str:
    (path / name).write_text(name)
    git(path, "add", name)
    git(path, "commit", "-q", "-m", name)
    return git(path, "rev-parse", "HEAD")


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """main with two commits, and a branch `pull` made from the first."""
    path = tmp_path / "origin"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    commit(path, "one")
    git(path, "switch", "-q", "-c", "pull")
    commit(path, "change")
    git(path, "switch", "-q", "main")
    commit(path, "two")
    return path


def pull_request(head_sha: str, base_ref: str = "main") -> PullRequest:
    return PullRequest(7, head_sha, "0" * 40, base_ref, from_fork=False)


def merged(origin: Path) -> str:
    """The merge of `pull` into main as GitHub makes it, at refs/pull/1/merge."""
    git(origin, "switch", "-q", "--detach", "main")
    git(origin, "merge", "-q", "--no-ff", "-m", "merge", "pull")
    sha = git(origin, "rev-parse", "HEAD")
    git(origin, "update-ref", "refs/pull/1/merge", sha)
    git(origin, "switch", "-q", "main")
    return sha


def shallow_checkout(origin: Path, path: Path, ref: str) -> Repository:
    """A checkout of depth 1, as actions/checkout makes it."""
    git(origin, "init", "-q", str(path))
    git(path, "remote", "add", "origin", f"file://{origin}")
    git(path, "fetch", "-q", "--depth=1", "origin", ref)
    git(path, "checkout", "-q", "--detach", "FETCH_HEAD")
    return Repository.open(path)


def test_the_tested_merge_is_compared_with_its_first_parent(origin: Path) -> None:
    merge = merged(origin)
    git(origin, "switch", "-q", "--detach", merge)
    head_sha = git(origin, "rev-parse", "pull")
    compared = of_pull_request(Repository.open(origin), pull_request(head_sha))
    assert compared.base.sha == git(origin, "rev-parse", "main")
    assert compared.head.sha == merge
    assert (compared.base.ref, compared.head.ref) == ("main", "refs/pull/7/merge")
    assert compared.check_sha == head_sha


def test_without_the_merge_the_head_is_compared_with_the_merge_base(origin: Path) -> None:
    head_sha = git(origin, "rev-parse", "pull")
    compared = of_pull_request(Repository.open(origin), pull_request(head_sha))
    assert compared.base.sha == git(origin, "merge-base", "main", "pull")
    assert (compared.head.sha, compared.check_sha) == (head_sha, head_sha)


def test_a_merge_of_something_else_is_not_taken_for_the_tested_one(origin: Path) -> None:
    merged(origin)
    git(origin, "switch", "-q", "--detach", "refs/pull/1/merge")
    other = git(origin, "rev-parse", "main~1")
    compared = of_pull_request(Repository.open(origin), pull_request(other))
    assert compared.head.sha == other


def test_a_missing_base_branch_is_one_clear_line(origin: Path) -> None:
    with pytest.raises(GitError, match="base branch release is not in this checkout") as raised:
        of_pull_request(
            Repository.open(origin), pull_request(git(origin, "rev-parse", "pull"), "release")
        )
    assert "git fetch origin release" in raised.value.hint


def test_a_push_is_compared_with_the_previous_tip(origin: Path) -> None:
    before, after = git(origin, "rev-parse", "main~1"), git(origin, "rev-parse", "main")
    assert of_push(Repository.open(origin), before, after).base.sha == before


@pytest.mark.parametrize("before", ["0" * 40, "1" * 40])
def test_a_push_without_a_known_previous_tip_is_compared_with_its_parent(
    origin: Path, before: str
) -> None:
    after = git(origin, "rev-parse", "main")
    compared = of_push(Repository.open(origin), before, after)
    assert compared.base.sha == git(origin, "rev-parse", "main~1")
    assert "first parent" in compared.why


def test_a_named_revision_that_does_not_exist_is_a_usage_error(origin: Path) -> None:
    with pytest.raises(UsageError, match="no such revision: absent"):
        named(Repository.open(origin), "main", "absent")


def test_a_shallow_checkout_is_completed_into_our_own_refs(origin: Path, tmp_path: Path) -> None:
    merge = merged(origin)
    checkout = shallow_checkout(origin, tmp_path / "checkout", "refs/pull/1/merge")
    branches = checkout.lines("for-each-ref", "refs/heads", "refs/remotes", "refs/tags")
    fetch_origin(
        checkout, [f"+refs/heads/main:{BASE_REF}"], token="ignored", say=lambda _line: None
    )
    compared = of_pull_request(checkout, pull_request(git(origin, "rev-parse", "pull")))
    assert (compared.base.sha, compared.head.sha) == (git(origin, "rev-parse", "main"), merge)
    assert not checkout.is_shallow
    assert checkout.lines("for-each-ref", "refs/heads", "refs/remotes", "refs/tags") == branches


def test_upstream_is_fetched_from_its_url_without_a_remote(origin: Path, tmp_path: Path) -> None:
    checkout = shallow_checkout(origin, tmp_path / "checkout", "pull")
    config = UpstreamConfig(url=f"file://{origin}", branch="main")
    assert fetch_upstream(checkout, config, say=lambda _line: None) == UPSTREAM_REF
    assert checkout.commit(UPSTREAM_REF) == git(origin, "rev-parse", "main")
    assert checkout.lines("remote") == ["origin"]


def test_without_a_configured_upstream_nothing_is_fetched(origin: Path) -> None:
    lines: list[str] = []
    assert fetch_upstream(Repository.open(origin), UpstreamConfig(), say=lines.append) is None
    assert lines == []


def test_a_branch_that_upstream_lacks_is_one_clear_line(origin: Path) -> None:
    config = UpstreamConfig(url=f"file://{origin}", branch="absent")
    with pytest.raises(GitError, match="absent"):
        fetch_upstream(Repository.open(origin), config, say=lambda _line: None)
