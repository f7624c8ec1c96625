"""The trusted half of a fork-safe pair, played through: what a run left, and its job."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ciwm.cli import run
from tests.records_examples import bump, verdict
from tests.runs import RunBuilder, build, series

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

    from ciwm.records import BumpReport, Run
    from tests.github_bed.bed import GitHubBed, Pull

POLICY = """\
[[workload]]
id = "decode"
python = "bench/steps.py:decode"
params = { b = [1] }
"""
SERIES = series("decode/b=1")
UNCHANGED, SLOWER = 1.0, 1.2  # head over base
Packed = dict[str, bytes | str]


def measured(ratio: float = UNCHANGED) -> Run:
    """A whole run of the policy's one series."""
    return RunBuilder(family=[SERIES]).blocks(8, 0.01, 0.01 * ratio).run()


def claimed(**changes: Any) -> BumpReport:
    """The report that an honest untrusted half writes of an unchanged head."""
    told = {
        "builds": (build("base"), build("head")),
        "sync": None,
        "verdict": verdict("unchanged"),
        "conclusion": "success",
        "exit_code": 0,
        **changes,
    }
    return bump(**told)


def packed(report: BumpReport | str | None = None, run: Run | str | None = None) -> Packed:
    """The files of an artifact; texts go in as they are."""
    files: Packed = {"report.json": _text(report if report is not None else claimed())}
    if run is not None:
        files["run/run.json"] = _text(run)
    return files


def archive(files: Mapping[str, bytes | str]) -> bytes:
    """A zip archive as GitHub's action packs one."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return into.getvalue()


def _text(record: BumpReport | Run | str) -> str:
    return record if isinstance(record, str) else record.to_json()


@dataclass
class TrustedHalf:
    """A pull request, its run, and the workflow_run job that is for it."""

    bed: GitHubBed
    folder: Path
    environment: pytest.MonkeyPatch
    from_fork: bool = True
    policy: Mapping[str, str] = field(default_factory=lambda: {"ciwm.toml": POLICY})
    pull: Pull = field(init=False)
    event: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.pull = self.bed.pull_request(from_fork=self.from_fork)
        self.bed.runs.write(self.pull.base_sha, dict(self.policy))
        self.event = self.bed.runs.event(self.pull)
        self.bed.exchanges.clear()
        for name in ("CIWM_TOKEN", "GITHUB_ACTIONS"):
            self.environment.delenv(name, raising=False)
        job = {
            **self.bed.environment(),
            "GITHUB_EVENT_NAME": "workflow_run",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_OUTPUT": str(self.folder / "outputs"),
            "RUNNER_TEMP": str(self.folder),
        }
        for name, value in job.items():
            self.environment.setenv(name, value)

    @property
    def run_id(self) -> int:
        """The run's number."""
        number: int = self.event["workflow_run"]["id"]
        return number

    @property
    def url(self) -> str:
        """The run's address, the only one that a posted text may link to."""
        url: str = self.event["workflow_run"]["html_url"]
        return url

    def leaves(self, files: Mapping[str, bytes | str], name: str = "ciwm") -> TrustedHalf:
        """The untrusted half leaves an artifact of these files."""
        self.bed.runs.leave(self.run_id, archive(files), name)
        return self

    def __call__(self, *arguments: str) -> int:
        """The job: `ciwm publish`; its exit code."""
        path = self.folder / "event.json"
        path.write_text(json.dumps(self.event), encoding="utf-8")
        self.environment.setenv("GITHUB_EVENT_PATH", str(path))
        return run(["publish", *arguments])

    @property
    def comment(self) -> str:
        """The one comment on the pull request."""
        (found,) = self.bed.comments(self.pull.number)
        body: str = found["body"]
        return body

    @property
    def check(self) -> dict[str, Any]:
        """The one check of the head."""
        (found,) = self.bed.checks(self.pull.head_sha)
        return found

    @property
    def summary(self) -> str:
        """The step summary."""
        return (self.folder / "summary.md").read_text(encoding="utf-8")
