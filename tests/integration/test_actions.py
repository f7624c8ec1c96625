"""GitHub's own payloads read, and the commands we write understood by a runner (act)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.actions import read_event

if TYPE_CHECKING:
    from tests.github_bed.runner import Act

ROOT = Path(__file__).parents[2]
# the events of the examples that can start a workflow and that carry a repository
OURS = (
    *("pull_request", "push", "merge_group", "workflow_run", "workflow_dispatch", "check_run"),
    *("check_suite", "issue_comment", "pull_request_review", "release", "repository_dispatch"),
)


@pytest.mark.parametrize("name", OURS)
def test_every_example_of_github_is_read(
    payloads: dict[str, list[dict[str, Any]]], name: str, tmp_path: Path
) -> None:
    path = tmp_path / "event.json"
    for payload in payloads[name]:
        path.write_text(json.dumps(payload), encoding="utf-8")
        event = read_event({"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path)})
        assert event.repository == payload["repository"]["full_name"]
        assert event.default_branch == payload["repository"]["default_branch"]
        assert event.action == payload.get("action")
        if name == "push":
            assert (event.before, event.after) == (payload["before"], payload["after"])
        if name == "merge_group":
            group = payload["merge_group"]
            assert (event.before, event.after) == (group["base_sha"], group["head_sha"])
        if name in {"workflow_run", "check_run", "check_suite"}:
            assert event.after == payload[name]["head_sha"]
            theirs = [one["number"] for one in payload[name]["pull_requests"]]
            ours = [event.pull_request.number] if event.pull_request else []
            assert ours == (theirs if len(theirs) == 1 else [])


def test_the_pull_requests_of_the_examples_are_read_whole(
    payloads: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    path = tmp_path / "event.json"
    for payload in payloads["pull_request"]:
        path.write_text(json.dumps(payload), encoding="utf-8")
        event = read_event({"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(path)})
        said, found = payload["pull_request"], event.pull_request
        assert found is not None
        assert (found.number, found.head_sha) == (said["number"], said["head"]["sha"])
        assert (found.base_sha, found.base_ref) == (said["base"]["sha"], said["base"]["ref"])
        assert found.from_fork == (said["head"]["repo"]["id"] != said["base"]["repo"]["id"])


STEP = """
import sys
from ciwm.actions import Runner
runner = Runner()
runner.set_output("text", "one\\ntwo<<E\\nE\\n::warning::not me\\n100 %")
with runner.group("a group"):
    runner.error("50 % slower:\\nsee, below", title="a: b, c%", file="src/a.py", line=3)
with runner.verbatim():
    print("::error::forged by a build", file=sys.stderr, flush=True)
runner.warning("after")
runner.add_summary("# summary\\n\\n| a |\\n|---|")
"""
WORKFLOW = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - env: {PYTHONPATH: "ROOT"}
        run: |
          "PYTHON" "STEP"
"""


def test_a_runner_understands_what_we_tell_it(act: Act, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    workflow = checkout / ".github/workflows/w.yml"
    workflow.parent.mkdir(parents=True)
    step = tmp_path / "step.py"
    step.write_text(STEP, encoding="utf-8")
    text = WORKFLOW.replace("ROOT", str(ROOT)).replace('PYTHON"', f'{sys.executable}"')
    workflow.write_text(text.replace("STEP", str(step)), encoding="utf-8")
    git = ["git", "-C", str(checkout), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(checkout)], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "c"], check=True)
    result = act("push", checkout=checkout)
    assert result.rc == 0, result.log
    assert result.outputs == {"text": "one\ntwo<<E\nE\n::warning::not me\n100 %"}
    assert result.summary == "# summary\n\n| a |\n|---|\n"
    error, warning = result.annotations
    assert (error.level, error.message) == ("error", "50 % slower:\nsee, below")
    assert error.properties == {"title": "a: b, c%", "file": "src/a.py", "line": "3"}
    assert (warning.level, warning.message) == ("warning", "after")
