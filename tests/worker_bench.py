"""Runs the worker as the controller does, on workload files that a test writes."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ciwm
from ciwm.launch.journal import Journal, read_journal

if TYPE_CHECKING:
    from collections.abc import Mapping

ENTER = Path(ciwm.__file__).parent / "worker" / "enter.py"


@dataclass
class Worked:
    """A worker's end: its journal, its exit status and all it printed."""

    journal: Journal
    status: int
    output: str

    @property
    def values(self) -> tuple[float, ...]:
        (samples,) = self.journal.samples
        return samples.values


@dataclass
class Bench:
    """A folder with workload files, and the interpreter that runs them."""

    python: str
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def job(self, name: str, **changes: Any) -> dict[str, Any]:
        """The job for `file.py:callable`: one series, five iterations, no warm-up."""
        file, _, step = name.partition(":")
        schedule = {
            "iterations": 5,
            "warmup_iterations": 0,
            "warmup_s": 0,
            "time_metric": "step_time",
            "time_scale": 1.0,
            "reported": [],
        }
        return {
            "kind": "bench",
            "side": "base",
            "file": str(self.folder / file),
            "callable": step,
            "path": [str((self.folder / file).parent)],
            "build": str(self.folder / "build"),
            "own": [str(self.folder)],
            "foreign": {},
            "series": [{"series": "w", "params": changes.pop("params", {})}],
            "schedule": {**schedule, **changes.pop("schedule", {})},
            **changes,
        }

    def start(self, name: str, **changes: Any) -> subprocess.Popen[str]:
        job = self.folder / "job.json"
        job.write_text(json.dumps(self.job(name, **changes)))
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return subprocess.Popen(
            [self.python, str(ENTER), "--job", str(job), "--journal", str(self.journal)],
            cwd=self.folder,
            env={**kept, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    def run(self, name: str, **changes: Any) -> Worked:
        child = self.start(name, **changes)
        output, _ = child.communicate(timeout=60)
        return Worked(read_journal(self.journal), child.returncode, output)

    def with_environment(self, variables: Mapping[str, str]) -> Bench:
        return Bench(self.python, self.folder, dict(variables))
