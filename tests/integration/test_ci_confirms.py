"""`ciwm ci` twice: a regression blocks once a second, fresh job has seen it too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import ENVIRONMENT, NO, OK, USAGE
from ciwm.records import BumpReport, read_record
from tests.fork import new_fork

if TYPE_CHECKING:
    from ciwm.records import Revision
    from tests.fork import Fork

ROOT = Path(__file__).parents[2]
# The figures are drawn, not timed: head's are a tenth larger, launches differ by half a percent.
BENCH = """
import json, random, sys
import framework
level = framework.COST * random.gauss(1, 0.005)
with open(sys.argv[1], "w") as out:
    json.dump({"cost": [level * random.gauss(1, 0.002) for _ in range(9)]}, out)
"""
CONFIG = """
[gate]
confirm = true
[[workload]]
id = "draw"
command = "{python} bench/draw.py {out}"
metrics = { cost = { unit = "s", better = "lower" } }
"""


class Jobs:
    """Jobs of one workflow run, each with an output folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fork: Fork = new_fork(folder)
        files = {"bench/draw.py": BENCH, "ciwm.toml": CONFIG}
        self.base = self.fork.commit({**files, "framework/__init__.py": "COST = 1.0\n"})
        self.head = self.fork.commit({"framework/__init__.py": "COST = 1.1\n"})

    def run(self, name: str, *options: str, head: Revision | None = None) -> int:
        """The exit code of `ciwm ci` for base and head."""
        revisions = ("--base", self.base.sha, "--head", (head or self.head).sha)
        command = [sys.executable, "-m", "ciwm", "-C", str(self.fork.path), "ci", *revisions]
        variables = {
            **{each: os.environ[each] for each in ("PATH", "HOME")},
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "CIWM_LOCK_DIR": str(self.folder / "locks"),
        }
        done = subprocess.run(
            [*command, "--no-fetch", "--out", str(self.folder / name), *options],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        self.said = done.stdout + done.stderr
        return done.returncode

    def report(self, name: str) -> BumpReport:
        """What a job told."""
        return read_record(self.folder / name / "report.json", BumpReport)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(tmp_path)


def test_the_first_job_leaves_it_in_doubt_and_the_second_blocks(jobs: Jobs) -> None:
    assert jobs.run("first") == OK, jobs.said
    first = jobs.report("first")
    assert first.verdict is not None
    assert first.verdict.needs_confirmation
    assert (first.verdict.outcome, first.conclusion) == ("inconclusive", "neutral")

    assert jobs.run("second", "--confirms", str(jobs.folder / "first")) == NO, jobs.said
    second = jobs.report("second")
    assert second.verdict is not None
    assert (second.verdict.outcome, second.conclusion) == ("fail", "failure")
    (series,) = second.verdict.series
    assert series.outcome == "regressed"
    assert series.confirmation is not None
    own = json.loads((jobs.folder / "second" / "run" / "run.json").read_text())
    assert series.confirmation.run == own["id"]
    assert not second.verdict.needs_confirmation


def test_a_run_of_other_revisions_confirms_nothing(jobs: Jobs) -> None:
    assert jobs.run("first", head=jobs.base) == OK, jobs.said
    assert jobs.run("second", "--confirms", str(jobs.folder / "first")) == ENVIRONMENT
    (failed,) = [stage for stage in jobs.report("second").stages if stage.status == "failed"]
    assert failed.name == "gate"
    assert "another head" in failed.message


def test_a_first_run_that_is_not_there_is_one_clear_line(jobs: Jobs) -> None:
    assert jobs.run("second", "--confirms", str(jobs.folder / "nowhere")) == USAGE
    assert f"there is no {jobs.folder / 'nowhere'}" in jobs.said
