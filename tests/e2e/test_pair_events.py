"""The pair, run by `act`, where there is no pull request, or no report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.demo.repositories import BASE, HEAD
from tests.e2e.conftest import git
from tests.e2e.test_events import CONFIG
from tests.e2e.test_pair import Pair, pair

if TYPE_CHECKING:
    from tests.github_bed.bed import GitHubBed

__all__ = ["pair"]  # the fixture


def test_a_merge_queues_commit_is_measured_without_rights_and_its_check_posted(
    pair: Pair, github: GitHubBed
) -> None:
    path = pair.downstream.path
    for branch in (BASE, HEAD):
        git(path, "switch", "-q", branch)
        (path / "ciwm.toml").write_text(CONFIG)
        pair.downstream.commit("Count launches")
    git(path, "switch", "-q", "--detach", HEAD)
    git(path, "merge", "-q", "--no-edit", BASE)  # the workflows
    (path / ".github" / "workflows" / "ciwm.yml").unlink()  # the plain action's
    git(path, "commit", "-qam", "Queue it")
    base, head = git(path, "rev-parse", BASE), git(path, "rev-parse", "HEAD")
    github.pull_request("queued", head_sha=head, base_sha=base)
    group = {"base_sha": base, "head_sha": head}
    repository = github.push_event("", "")["repository"]
    event = {"action": "checks_requested", "repository": repository, "merge_group": group}
    measured = pair("merge_group", event, github.read_only_token)
    assert measured.outputs["exit-code"] == "0", measured.log
    assert github.checks(head) == []

    github.runs.write(base, {"ciwm.toml": CONFIG})
    github.runs.write(head, {"ciwm.toml": CONFIG, "parents": base})
    queue = f"gh-readonly-queue/main/pr-1-{base}"
    done = github.runs.event(event="merge_group", head_sha=head, head_branch=queue)
    assert pair.publish(done).rc == 0
    (check,) = github.checks(head)
    assert check["conclusion"] == "success"
    assert f"main at {base[:12]}" in check["output"]["summary"]


def test_a_run_that_was_cancelled_before_it_had_a_report_ends_its_check(
    pair: Pair, github: GitHubBed
) -> None:
    pull = github.pull_request(from_fork=True)
    done = pair.publish(github.runs.event(pull, conclusion="cancelled"))
    assert done.rc == 1, done.log
    (check,) = github.checks(pull.head_sha)
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    (comment,) = github.comments(pull.number)
    assert "the run left no artifact named ciwm" in comment["body"]
