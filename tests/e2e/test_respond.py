"""The workflow that answers comments, run by `act`: each job has only the rights it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.conftest import ROOT, git
from tests.github_bed.emulator import MAINTAINER
from tests.github_bed.state import READ_WRITE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed
    from tests.github_bed.runner import Act, ActResult

ACTIONS = ROOT / "tests" / "e2e" / "actions"
CHECKOUT = "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8"
CALLER = """\
on:
  issue_comment: {types: [created]}
  check_run: {types: [rerequested]}
permissions: {}
jobs:
  respond:
    permissions: {actions: write, contents: write, pull-requests: write}
    uses: ./.github/workflows/respond.yml
    with:
      workflow: measure.yml
      executable: ${{ vars.EXECUTABLE }}
"""


@dataclass(frozen=True)
class Answering:
    """Runs the workflow of a small checkout for an event."""

    act: Act
    checkout: Path
    github: GitHubBed
    executable: Path

    def __call__(self, name: str, event: dict[str, Any]) -> ActResult:
        token = self.github.make_token(
            permissions={**READ_WRITE, "actions": "write", "contents": "write"}
        )
        return self.act(
            name,
            checkout=self.checkout,
            event=event,
            token=token,
            env={**self.github.environment(token), "CIWM_SOURCES": str(ROOT)},
            actions={CHECKOUT: ACTIONS / "checkout"},
            arguments=("--var", f"EXECUTABLE={self.executable}"),
        )


@pytest.fixture
def answer(act: Act, github: GitHubBed, executable: Path, tmp_path: Path) -> Answering:
    checkout = tmp_path / "checkout"
    workflows = checkout / ".github" / "workflows"
    workflows.mkdir(parents=True)
    git(checkout, "init", "-q", "-b", "main")
    git(checkout, "remote", "add", "origin", github.remote_url)
    (workflows / "caller.yml").write_text(CALLER)
    text = (ROOT / ".github" / "workflows" / "respond.yml").read_text()
    (workflows / "respond.yml").write_text(text)
    git(checkout, "add", "--all")
    git(checkout, "commit", "-q", "-m", "Answer comments")
    return Answering(act, checkout, github, executable)


def test_a_maintainers_comments_are_answered_by_the_job_that_may(
    answer: Answering, github: GitHubBed
) -> None:
    pull = github.pull_request(from_fork=True)
    listed = github.runs.list(pull, workflow="measure.yml")
    github.may(MAINTAINER, "write")
    asked = github.comment_event(pull.number, "/ciwm rerun")
    done = answer("issue_comment", asked)
    assert done.rc == 0, done.log
    assert github.proxy.state.reruns == [listed["id"]]
    assert github.reactions(asked["comment"]["id"]) == ["rocket"]
    assert [name for name, result in done.jobs.items() if result == "success"] == ["rerun"]

    asked = github.comment_event(pull.number, "/ciwm waive decode ceiling=8% worth $(id) `id`")
    done = answer("issue_comment", asked)
    assert done.rc == 0, done.log
    (reply,) = [
        one["body"]
        for one in github.comments(pull.number)
        if one["body"].startswith("<!-- ciwm:reply-")
    ]
    assert 'reason = "worth $(id) `id`"' in reply  # a shell has never seen it
    assert f"compare/main...ciwm/waive-{asked['comment']['id']}" in reply


def test_talk_starts_no_job(answer: Answering, github: GitHubBed) -> None:
    pull = github.pull_request()
    done = answer("issue_comment", github.comment_event(pull.number, "see /ciwm rerun"))
    assert done.rc == 0, done.log
    assert "success" not in done.jobs.values()
    assert github.reactions(github.comments(pull.number)[0]["id"]) == []
