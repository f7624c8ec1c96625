"""A small downstream as a real repository: a framework, workloads, and commits to compare."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ciwm.bench.measure import BenchRequest
from ciwm.config import BuildConfig, Config, GateConfig, WorkloadConfig
from ciwm.git import Repository
from ciwm.launch.builds import build

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ciwm.records import Launch, Revision, Run

QUICK = {"iterations": 5, "warmup_iterations": 0, "warmup_s": 0.0}
STEP = "import framework\ndef step(): framework.work()\n"
FRAMEWORK = "def work(): return sum(range(2000))\n"


def git(path: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=path, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Fork:
    """The repository, and the folder its runs go to."""

    path: Path
    runs: Path
    said: list[str] = field(default_factory=list)

    @property
    def repository(self) -> Repository:
        return Repository(self.path)

    def commit(self, files: Mapping[str, str], branch: str | None = None) -> Revision:
        """Commit files on the branch checked out, or on a new one."""
        if branch is not None:
            git(self.path, "switch", "-q", "-c", branch)
        for name, text in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        git(self.path, "add", "--all")
        git(self.path, "commit", "-q", "--allow-empty", "-m", "change")
        return self.repository.revision(branch or "HEAD")

    def request(
        self,
        base: Revision,
        head: Revision,
        *workloads: WorkloadConfig,
        gate: Mapping[str, Any] | None = None,
        recipe: BuildConfig | None = None,
        **changes: Any,
    ) -> BenchRequest:
        """Both sides really built; two blocks at most, unless the gate is told otherwise."""
        recipe = recipe or BuildConfig()
        config = Config(
            build=recipe,
            workload=workloads or (workload(),),
            gate=GateConfig.model_validate({"max_launches": 4, **(gate or {})}),
        )
        asked: dict[str, Any] = {
            "repository": self.repository,
            "config": config,
            "base": build(self.repository, base, recipe),
            "head": build(self.repository, head, recipe),
            "workloads_from": head,
            "directory": self.runs / "run",
            "seed": 7,
        }
        return BenchRequest(**{**asked, **changes})

    def measure(self, request: BenchRequest, stop: threading.Event | None = None) -> Run:
        from ciwm.bench.measure import measure  # noqa: PLC0415

        return measure(request, stop=stop or threading.Event(), on_progress=self.said.append)


def workload(name: str = "w", **fields: Any) -> WorkloadConfig:
    """A `python` workload of five iterations, in bench/steps.py unless told otherwise."""
    if "command" not in fields:
        fields = {"python": "bench/steps.py:step", **fields}
    return WorkloadConfig.model_validate({"id": name, **QUICK, **fields})


def new_fork(path: Path) -> Fork:
    """A repository with a framework and one workload on main, and a folder for runs."""
    checkout = path / "fork"
    checkout.mkdir(parents=True)
    git(checkout, "init", "-q", "-b", "main")
    fork = Fork(checkout, path / "runs")
    fork.runs.mkdir()
    fork.commit({"framework/__init__.py": FRAMEWORK, "bench/steps.py": STEP})
    return fork


def exits(run: Run, side: str) -> list[str]:
    """The exit reasons of a side's launches in order."""
    return [launch.exit for launch in run.launches if launch.side == side]


def only_launch(run: Run, side: str) -> Launch:
    """The first launch of a side."""
    return next(launch for launch in run.launches if launch.side == side)
