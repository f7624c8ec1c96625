"""A cancelled job, and two jobs on one host: what the runner does to a step's processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.records import BumpReport, Run, read_record
from tests.e2e.conftest import ROOT, git

if TYPE_CHECKING:
    from tests.github_bed.bed import GitHubBed

# each launch takes half a second, and none is ever decided: the job lasts until it is stopped
CONFIG = """\
[build]
command = "true"

[[workload]]
id = "slow"
command = "sleep 0.5; printf '{{\\"time\\": 1.%s}}' $(date +%N) > {{out}}"
metrics = {{ time = {{ unit = "s", better = "lower", threshold = "0.001%" }} }}

[gate]
budget = "{budget}"
"""


@dataclass(frozen=True)
class Job:
    """A step of a job, started as the runner starts one."""

    process: subprocess.Popen[str]
    out: Path

    @property
    def launches(self) -> list[Path]:
        """Launches that ended."""
        return sorted(self.out.glob("run/launches/*/result.json"))

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 120
        while len(self.launches) < count:
            assert time.monotonic() < deadline
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)

    @property
    def report(self) -> BumpReport:
        return read_record(self.out / "report.json", BumpReport)

    @property
    def run(self) -> Run:
        return read_record(self.out / "run" / "run.json", Run)


class Runner:
    """Starts the action's script on a pull request of a small repository."""

    def __init__(self, folder: Path, bed: GitHubBed, executable: Path, budget: str) -> None:
        self.folder, self.bed, self.executable = folder, bed, executable
        self.checkout = folder / "checkout"
        self.checkout.mkdir()
        git(self.checkout, "init", "-q", "-b", "main")
        (self.checkout / "ciwm.toml").write_text(CONFIG.format(budget=budget))
        for number in range(2):
            (self.checkout / "notes").write_text(f"{number}\n")
            git(self.checkout, "add", "--all")
            git(self.checkout, "commit", "-q", "-m", f"change {number}")
        self.head = git(self.checkout, "rev-parse", "HEAD")
        base = git(self.checkout, "rev-parse", "HEAD^")
        self.pull = bed.pull_request(head_sha=self.head, base_sha=base)
        event = bed.pull_request_event(self.pull)
        (folder / "event.json").write_text(json.dumps(event))

    def start(self, name: str) -> Job:
        """One job; a job has a temporary folder of its own, and shares the host's caches."""
        out = self.folder / name
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment = {
            **kept,
            **self.bed.environment(),
            "CIWM_CACHE_DIR": str(self.folder / "cache"),
            "CIWM_LOCK_DIR": str(self.folder / "locks"),  # others may measure on this machine
            "CIWM_EXECUTABLE": str(self.executable),
            "CIWM_FETCH": "false",
            "CIWM_BASE": "HEAD^",
            "CIWM_HEAD": "HEAD",
            "CIWM_OUT": str(out),
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_STEP_SUMMARY": str(self.folder / f"{name}.md"),
            "GITHUB_OUTPUT": str(self.folder / f"{name}.outputs"),
        }
        process = subprocess.Popen(
            ["bash", str(ROOT / "scripts" / "run-action.sh")],
            cwd=self.checkout,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return Job(process, out)


def left_of(folder: Path) -> list[str]:
    """Command lines of processes that still work in a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").resolve().is_relative_to(folder):
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found


# GitHub's runner sends SIGINT to the step, after 7.5 s SIGTERM, after 2.5 s more it kills
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_cancelled_job_ends_in_time_and_what_it_measured_is_kept_and_posted(
    tmp_path: Path, github: GitHubBed, executable: Path, number: signal.Signals
) -> None:
    runner = Runner(tmp_path, github, executable, budget="10min")
    job = runner.start("job")
    job.wait_for(3)
    cancelled = time.monotonic()
    os.killpg(job.process.pid, number)
    log, _ = job.process.communicate(timeout=60)
    took_s = time.monotonic() - cancelled
    assert job.process.returncode == 130, log
    # the runner kills after 10 s; the machine of the tests may be busy with others
    assert took_s < 10 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert job.report.exit_code == 130
    assert sum(bool(launch.samples) for launch in job.run.launches) >= 3
    assert not job.run.complete
    (check,) = github.checks(runner.head)
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    told = (tmp_path / "job.md").read_text()
    assert "cancelled" in told
    assert "left no message" not in told
    stages = {stage.name: stage.status for stage in job.report.stages}
    assert (stages["bench"], stages["gate"]) == ("interrupted", "done")
    assert left_of(tmp_path) == []


def test_a_job_cancelled_twice_is_over_at_once_and_loses_no_launch(
    tmp_path: Path, github: GitHubBed, executable: Path
) -> None:
    job = Runner(tmp_path, github, executable, budget="10min").start("job")
    job.wait_for(2)
    before = len(job.launches)
    for _ in range(2):
        os.killpg(job.process.pid, signal.SIGINT)
        time.sleep(0.2)
    job.process.communicate(timeout=60)
    assert job.process.returncode != 0
    assert len(job.launches) >= before
    assert left_of(tmp_path) == []


def test_a_killed_job_leaves_its_launches_and_no_process(
    tmp_path: Path, github: GitHubBed, executable: Path
) -> None:
    job = Runner(tmp_path, github, executable, budget="10min").start("job")
    job.wait_for(2)
    os.killpg(job.process.pid, signal.SIGKILL)
    job.process.communicate(timeout=60)
    assert len(job.launches) >= 2
    deadline = time.monotonic() + 30
    while left_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left_of(tmp_path) == []


def test_two_jobs_on_one_host_take_turns_and_both_report(
    tmp_path: Path, github: GitHubBed, executable: Path
) -> None:
    runner = Runner(tmp_path, github, executable, budget="12s")
    jobs = [runner.start(name) for name in ("one", "other")]
    logs = [job.process.communicate(timeout=200)[0] for job in jobs]
    assert [job.process.returncode for job in jobs] == [0, 0], "\n=====\n".join(logs)
    blocks = []
    for job in jobs:
        whole: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for launch in job.run.launches:
            began = launch.started_at.timestamp()
            span = (began, began + launch.duration_s)
            whole.setdefault((launch.block, launch.attempt), []).append(span)
        blocks.append(
            [(min(a for a, _ in spans), max(b for _, b in spans)) for spans in whole.values()]
        )
    one, other = blocks
    assert one
    assert other
    overlapping = [(a, b) for a in one for b in other if a[0] < b[1] and b[0] < a[1]]
    assert overlapping == []
    assert len(github.comments(runner.pull.number)) == 1
