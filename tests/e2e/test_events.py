"""The action under every event: which comment, which check, what is kept, which exit code."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.demo.repositories import BASE, HEAD
from tests.e2e.conftest import ROOT, Downstream, git
from tests.github_bed.state import READ_WRITE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed, Pull
    from tests.github_bed.runner import Act, ActResult

# counts that no clock reads: decided by four launches a side
CONFIG = """\
[build]
command = "true"

[[workload]]
id = "launches"
command = "printf '{\\"kernels\\": 7}' > {out}"
metrics = { kernels = { unit = "kernels", better = "lower" } }
"""
WORKFLOW = """\
on: [pull_request, push, merge_group, schedule, workflow_dispatch]
permissions: {contents: write, checks: write, pull-requests: write}
jobs:
  compare:
    runs-on: [self-hosted, gpu]
    steps:
      - uses: actions/checkout@v5
      - uses: acme/ciwm@v1
        with:
          command: ${{ vars.COMMAND || 'ci' }}
          token: ${{ secrets.GITHUB_TOKEN }}
          executable: ${{ vars.EXECUTABLE }}
          base: ${{ vars.BASE }}
          head: ${{ vars.HEAD }}
"""


@dataclass(frozen=True)
class Scene:
    """The light downstream, its pull request, and the runner."""

    act: Act
    downstream: Downstream
    github: GitHubBed
    executable: Path
    pull: Pull

    def __call__(
        self, name: str, event: dict[str, Any], *, token: str = "", **variables: str
    ) -> ActResult:
        known = {"EXECUTABLE": str(self.executable), **variables}
        return self.act(
            name,
            checkout=self.downstream.path,
            event=event,
            token=token or self.github.token,
            env=self.github.environment(token or None),
            actions={"acme/ciwm@v1": ROOT},
            arguments=tuple(
                part for key, value in known.items() for part in ("--var", f"{key}={value}")
            ),
        )

    def sha(self, revision: str) -> str:
        return git(self.downstream.path, "rev-parse", revision)

    @property
    def kept(self) -> int:
        """Runs in the data branch."""
        branch = git(self.downstream.origin, "branch", "--list", "ciwm-data")
        if not branch:
            return 0
        listed = git(self.downstream.origin, "ls-tree", "-r", "--name-only", "ciwm-data")
        return sum(name.startswith("runs/") for name in listed.splitlines())


@pytest.fixture
def scene(act: Act, downstream: Downstream, github: GitHubBed, executable: Path) -> Scene:
    for branch in (BASE, HEAD):
        git(downstream.path, "switch", "-q", branch)
        (downstream.path / "ciwm.toml").write_text(CONFIG)
        (downstream.path / ".github" / "workflows" / "ciwm.yml").write_text(WORKFLOW)
        downstream.commit("Count launches")
        (downstream.path / "NOTES.md").write_text("By launches.\n")
        downstream.commit("Say so")
    shas = {name: git(downstream.path, "rev-parse", name) for name in (BASE, HEAD)}
    pull = github.pull_request(HEAD, head_sha=shas[HEAD], base_sha=shas[BASE])
    return Scene(act, downstream, github, executable, pull)


@dataclass(frozen=True)
class Expected:
    """A row of the table."""

    comments: int
    check: str | None
    kept: int
    exit_code: str
    at: str = HEAD  # the revision whose check it is


def pull_request(scene: Scene) -> ActResult:
    scene.downstream.check_out_merge(HEAD)
    return scene("pull_request", scene.github.pull_request_event(scene.pull))


def from_a_fork(scene: Scene) -> ActResult:
    scene.downstream.check_out_merge(HEAD)
    event = scene.github.pull_request_event(scene.pull)
    event["pull_request"]["head"]["repo"] = None
    return scene("pull_request", event, token=scene.github.read_only_token)


def push(scene: Scene) -> ActResult:
    git(scene.downstream.path, "switch", "-q", HEAD)
    return scene("push", scene.github.push_event(scene.sha(f"{HEAD}^"), scene.sha(HEAD)))


def new_branch(scene: Scene) -> ActResult:
    git(scene.downstream.path, "switch", "-q", HEAD)
    return scene("push", scene.github.push_event("0" * 40, scene.sha(HEAD), branch=HEAD))


def deleted_branch(scene: Scene) -> ActResult:
    git(scene.downstream.path, "switch", "-q", BASE)
    return scene("push", scene.github.push_event(scene.sha(HEAD), "0" * 40, branch=HEAD))


def merge_group(scene: Scene) -> ActResult:
    git(scene.downstream.path, "switch", "-q", HEAD)
    event = {
        "action": "checks_requested",
        "repository": scene.github.push_event("", "")["repository"],
        "merge_group": {"base_sha": scene.sha(BASE), "head_sha": scene.sha(HEAD)},
    }
    return scene("merge_group", event)


def schedule(scene: Scene) -> ActResult:
    git(scene.downstream.path, "switch", "-q", BASE)
    return scene("schedule", {"schedule": "0 3 * * *"})


def dispatch(scene: Scene) -> ActResult:
    git(scene.downstream.path, "switch", "-q", HEAD)
    return scene("workflow_dispatch", {"inputs": {}}, BASE=BASE, HEAD=HEAD)


def sync_report(scene: Scene) -> ActResult:
    scene.downstream.check_out_merge(HEAD)
    event = scene.github.pull_request_event(scene.pull)
    return scene("pull_request", event, COMMAND="sync-report")


TABLE: dict[str, tuple[Callable[[Scene], ActResult], Expected]] = {
    "pull request": (pull_request, Expected(1, "success", 0, "0")),
    "pull request from a fork": (from_a_fork, Expected(0, None, 0, "0")),
    "push": (push, Expected(0, "success", 1, "0")),
    "push of a new branch": (new_branch, Expected(0, "success", 1, "0")),
    "push that deletes a branch": (deleted_branch, Expected(0, None, 0, "0")),
    "merge queue": (merge_group, Expected(0, "success", 0, "0")),
    "schedule without revisions": (schedule, Expected(0, None, 0, "2")),
    "dispatch with revisions": (dispatch, Expected(0, "success", 0, "0")),
    "sync-report alone": (sync_report, Expected(1, "success", 0, "0")),
}


@pytest.mark.parametrize("row", TABLE)
def test_each_event_has_its_comment_check_store_and_exit_code(scene: Scene, row: str) -> None:
    act, expected = TABLE[row]
    done = act(scene)
    found = [run["conclusion"] for run in scene.github.checks(scene.sha(expected.at))]
    assert done.outputs.get("exit-code", "") == expected.exit_code, done.log
    assert (done.rc == 0) == (expected.exit_code in ("", "0")), done.log
    assert found == ([expected.check] if expected.check else []), done.log
    assert len(scene.github.comments(scene.pull.number)) == expected.comments
    assert scene.kept == expected.kept


def test_a_push_proposes_to_take_out_a_waiver_that_is_over(scene: Scene) -> None:
    text = (
        '[[waiver]]\nseries = "launches"\nceiling = "8%"\nreason = "r"\nauthor = "a"\n'
        'issue = "#1"\nexpires = 2020-01-31\n'
    )
    git(scene.downstream.path, "switch", "-q", HEAD)
    before = scene.sha(HEAD)
    for name, content in (("ciwm-waivers.toml", text), ("NOTES.md", "Again.\n")):
        before = scene.sha(HEAD)
        (scene.downstream.path / name).write_text(content)
        scene.downstream.commit(f"Write {name}")
    path = f"/repos/{scene.github.repository}/contents/ciwm-waivers.toml"
    sent = {"message": "m", "content": base64.b64encode(text.encode()).decode()}
    scene.github.proxy.emulator.json("PUT", path, sent)
    token = scene.github.make_token(permissions={**READ_WRITE, "contents": "write"})
    after = scene.github.branch("main", scene.sha(HEAD))
    done = scene("push", scene.github.push_event(before, after), token=token)
    assert done.rc == 0, done.log
    assert "it expired on 2020-01-31" in done.summary
    told = [one.message for one in done.annotations if one.level == "notice"]
    assert any(line.startswith("waivers that are over: ") for line in told), done.log
    pulls = scene.github.proxy.emulator.json("GET", f"/repos/{scene.github.repository}/pulls")
    assert [one["title"] for one in pulls if one["head"]["ref"].startswith("ciwm/close")] == [
        "Close waivers that are over"
    ]


def test_an_unknown_command_is_one_line(scene: Scene) -> None:
    scene.downstream.check_out_merge(HEAD)
    done = scene("pull_request", scene.github.pull_request_event(scene.pull), COMMAND="$(id)")
    assert done.rc == 1
    (error,) = [one.message for one in done.annotations if one.level == "error"]
    assert error.startswith("no such command: the input command is ci, sync-report, bench,")


def broken_pull_request(scene: Scene) -> tuple[Pull, dict[str, Any]]:
    """A pull request whose head does not compile, checked out as it is tested, and its event."""
    git(scene.downstream.path, "switch", "-q", "-c", "broken", BASE)
    source = "int first;\nint broken(void) { return 1 }\n"
    (scene.downstream.path / "broken.c").write_text(source)
    config = CONFIG.replace('command = "true"', 'command = "cc -c broken.c -o /dev/null"')
    (scene.downstream.path / "ciwm.toml").write_text(config)
    sha = scene.downstream.commit("A semicolon less")
    pull = scene.github.pull_request("broken", head_sha=sha, base_sha=scene.sha(BASE))
    scene.downstream.check_out_merge("broken")
    return pull, scene.github.pull_request_event(pull)


def test_a_build_error_is_an_annotation_on_its_line(scene: Scene) -> None:
    pull, event = broken_pull_request(scene)
    assert scene("pull_request", event).outputs["exit-code"] == "1"
    (check,) = scene.github.checks(pull.head_sha)
    (remark,) = check["annotations"]
    assert (remark["path"], remark["start_line"]) == ("broken.c", 2)
    assert "error: expected" in remark["message"]


def test_without_a_check_the_runner_tells_of_a_build_error(scene: Scene) -> None:
    # no run before this one: a check that already says the same carries the error, to the 0.1 s
    _, event = broken_pull_request(scene)
    alone = scene("pull_request", event, token=scene.github.read_only_token)
    (error,) = [one for one in alone.annotations if one.properties.get("file")]
    assert (error.level, error.properties["file"], error.properties["line"]) == (
        "error",
        "broken.c",
        "2",
    )
