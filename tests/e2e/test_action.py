"""The real action, run by `act`, against a GitHub held to GitHub's own descriptions."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from ciwm.demo.history import KERNEL
from ciwm.demo.repositories import BASE, HEAD
from ciwm.records import BumpReport, read_record
from tests.e2e.conftest import ROOT, Downstream, git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed, Pull
    from tests.github_bed.runner import Act, ActResult


@dataclass(frozen=True)
class Runner:
    """Runs the checkout's workflow for an event; the records of run N land in `folder`/N."""

    act: Act
    checkout: Path
    github: GitHubBed
    executable: Path
    folder: Path

    def __call__(self, name: str, event: dict[str, object], token: str = "") -> ActResult:
        variables = {"EXECUTABLE": self.executable, "OUT": self.folder / str(self.act.runs)}
        return self.act(
            name,
            checkout=self.checkout,
            event=event,
            token=token or self.github.token,
            env=self.github.environment(token or None),
            actions={"acme/ciwm@v1": ROOT},
            arguments=tuple(
                part for key, value in variables.items() for part in ("--var", f"{key}={value}")
            ),
        )

    @property
    def report(self) -> BumpReport:
        """What the last run wrote."""
        return read_record(self.folder / str(self.act.runs - 1) / "report.json", BumpReport)


@pytest.fixture
def run(
    act: Act, downstream: Downstream, github: GitHubBed, executable: Path, tmp_path: Path
) -> Runner:
    return Runner(act, downstream.path, github, executable, tmp_path / "out")


def opened(downstream: Downstream, github: GitHubBed) -> Pull:
    """The pull request of the slower sync branch."""
    head_sha = git(downstream.path, "rev-parse", HEAD)
    base_sha = git(downstream.path, "rev-parse", BASE)
    return github.pull_request(HEAD, head_sha=head_sha, base_sha=base_sha)


def slow_by_far(downstream: Downstream) -> None:
    """A threshold, and a head beyond it, that machines with busy neighbours can tell as well."""
    for branch in (BASE, HEAD):
        git(downstream.path, "switch", "-q", branch)
        config = downstream.path / "ciwm.toml"
        config.write_text(config.read_text().replace('"5%"', '"100%"'))
        downstream.commit("Only what doubles is a regression")
    kernel = downstream.path / KERNEL
    slow = "sum = next;\n        for (volatile int turn = 0; turn < 32; turn++);"
    kernel.write_text(kernel.read_text().replace("sum = next;", slow))
    downstream.commit("Wait after every eight elements")


def test_a_slower_head_fails_the_job_and_a_fix_turns_the_same_comment_green(
    run: Runner, downstream: Downstream, github: GitHubBed
) -> None:
    slow_by_far(downstream)
    pull = opened(downstream, github)
    downstream.check_out_merge(HEAD)
    failed = run("pull_request", github.pull_request_event(pull))
    assert failed.rc == 1, failed.log
    (comment,) = github.comments(pull.number)
    assert "decode-rmsnorm" in comment["body"]
    assert "regressed" in comment["body"]
    (check,) = github.checks(pull.head_sha)
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    assert failed.outputs["outcome"] == "fail"
    assert failed.outputs["exit-code"] == "1"

    git(downstream.path, "switch", "-q", HEAD)
    kernel = downstream.path / KERNEL
    slow, fast = (
        git(downstream.path, "show", f"{HEAD}:{KERNEL}"),
        git(downstream.path, "show", f"{BASE}:{KERNEL}"),
    )
    assert slow != fast
    kernel.write_text(fast + "\n")
    pull = github.push(pull, downstream.commit("Take the plain reduction back"))
    downstream.check_out_merge(HEAD)
    mended = run("pull_request", github.pull_request_event(pull))
    assert mended.rc == 0, mended.log
    (edited,) = github.comments(pull.number)
    assert edited["id"] == comment["id"]
    assert edited["body"] != comment["body"]
    (check,) = github.checks(pull.head_sha)
    assert (check["status"], check["conclusion"]) == ("completed", "success")


def test_the_tested_merge_is_compared_with_its_first_parent(
    run: Runner, downstream: Downstream, github: GitHubBed
) -> None:
    pull = opened(downstream, github)
    merge = downstream.check_out_merge(HEAD)
    run("pull_request", github.pull_request_event(pull))
    report = run.report
    assert report.base is not None
    assert report.head is not None
    assert report.base.sha == git(downstream.path, "rev-parse", f"{merge}^1")
    assert report.head.sha == merge
    assert report.check_sha == pull.head_sha


def test_a_read_only_token_is_a_warning_and_the_gate_still_decides(
    run: Runner, downstream: Downstream, github: GitHubBed
) -> None:
    pull = opened(downstream, github)
    downstream.check_out_merge(HEAD)
    done = run("pull_request", github.pull_request_event(pull), github.read_only_token)
    assert done.rc == 1, done.log
    assert github.comments(pull.number) == []
    warnings = [each.message for each in done.annotations if each.level == "warning"]
    assert any("ciwm publish" in line for line in warnings)
    assert run.report.exit_code == 1
    assert "decode-rmsnorm" in done.summary


def test_a_pull_request_never_writes_the_data_branch_and_a_push_does(
    run: Runner, downstream: Downstream, github: GitHubBed
) -> None:
    pull = opened(downstream, github)
    downstream.check_out_merge(HEAD)
    run("pull_request", github.pull_request_event(pull))
    assert "ciwm-data" not in git(downstream.origin, "branch", "--list", "ciwm-data")

    git(downstream.path, "switch", "-q", BASE)
    before = git(downstream.path, "rev-parse", "HEAD")
    (downstream.path / "README.md").write_text("# tiny\n")
    after = github.branch(BASE, downstream.commit("Shorten the README"))
    pushed = run("push", github.push_event(before, after))
    assert pushed.rc == 0, pushed.log
    files = git(downstream.origin, "ls-tree", "-r", "--name-only", "ciwm-data").splitlines()
    assert sum(name.startswith("runs/") for name in files) == 1
    (check,) = github.checks(after)
    assert check["conclusion"] != "failure"  # a busy machine may leave it undecided


def test_a_configuration_that_cannot_be_read_is_posted_and_not_left_pending(
    run: Runner, downstream: Downstream, github: GitHubBed
) -> None:
    git(downstream.path, "switch", "-q", HEAD)
    (downstream.path / "ciwm.toml").write_text("[gate]\nthresold = 3\n")
    downstream.commit("A misspelt key")
    pull = opened(downstream, github)
    downstream.check_out_merge(HEAD)
    done = run("pull_request", github.pull_request_event(pull))
    assert done.rc == 1  # the job; the step's exit code is an output
    assert done.outputs["exit-code"] == "2"
    (check,) = github.checks(pull.head_sha)
    assert check["conclusion"] == "failure"
    assert "unknown key gate.thresold" in check["output"]["title"]


def test_the_action_installs_ciwm_once_and_runs_nothing_of_the_checkout_or_the_image(
    tmp_path: Path,
) -> None:
    cache, checkout, image = tmp_path / "tools", tmp_path / "checkout", tmp_path / "image"
    for folder in (checkout, image):
        folder.mkdir()
        for name in ("platform", "venv", "pip", "pydantic", "click"):
            spring = f"open({str(tmp_path / 'sprung')!r}, 'a').write(__file__)\n"
            (folder / f"{name}.py").write_text(spring)
    (tmp_path / "constraint.txt").write_text("pydantic==1.10.2\n")
    environment = {
        **os.environ,
        "RUNNER_TOOL_CACHE": str(cache),
        "GITHUB_EVENT_NAME": "",
        "PYTHONPATH": str(image),
        "PIP_CONSTRAINT": str(tmp_path / "constraint.txt"),
    }
    command = ["bash", str(ROOT / "scripts" / "run-action.sh")]

    def started() -> str:
        done = subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 4, done.stderr  # there is no repository in this folder
        return done.stderr

    assert "not inside a git repository" in started()
    (made,) = cache.glob("ciwm/*/ready")
    stamp = made.stat().st_mtime_ns
    started()
    assert made.stat().st_mtime_ns == stamp
    assert not (tmp_path / "sprung").exists()


def test_a_tool_cache_that_cannot_be_written_is_a_warning_and_not_the_end(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\n[ "$3" = venv ] && exit 1\nexit 0\n')
    python.chmod(0o755)
    place = {"RUNNER_TOOL_CACHE": "/dev/null", "RUNNER_TEMP": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(ROOT / "scripts" / "run-action.sh")],
        env={**os.environ, **place, "CIWM_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4  # as this interpreter makes no environment
    assert "cannot be written: ciwm is installed for this job alone" in done.stderr
    assert f"could not install ciwm into {tmp_path}/ciwm-" in done.stdout


def test_the_action_refuses_an_old_python_in_one_line(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = subprocess.run(
        ["bash", str(ROOT / "scripts" / "run-action.sh")],
        env={**os.environ, "CIWM_PYTHON": str(old), "RUNNER_TOOL_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stdout.startswith("::error title=ciwm::")
    assert "older than Python 3.10" in done.stdout
