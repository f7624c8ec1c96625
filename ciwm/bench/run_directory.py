"""The folder of a run: what is in it, who holds it, and how it is read back.

request.json    what was asked, so that `--resume` asks the same
plan.json       seed, order and family, frozen before the first launch
workloads/      the workloads' own files, a copy a side
launches/       a folder a launch: job.json, journal.jsonl, log.txt, result.json
profiles/       a folder for each side that was profiled after the timing
run.json        the Run record; rewritten after each block

A run of four builds has factorial.json in the place of plan.json and run.json.
"""

from __future__ import annotations

import contextlib
import re
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.bench.saved_request import Asked, SavedFactorial, SavedRequest
from ciwm.errors import CiwmError, LaunchError, UsageError
from ciwm.launch.files import make_folder, write_atomically
from ciwm.launch.flock import Flock
from ciwm.launch.worker_process import RESULT, lost_launch
from ciwm.records import FactorialRun, Launch, Plan, Run, read_part, read_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.bench.saved_request import AskedT

REQUEST, PLAN, RUN = "request.json", "plan.json", "run.json"
FACTORIAL = "factorial.json"
LOCK = ".lock"
DIGITS = re.compile(r"[0-9]{1,18}")
_KINDS: tuple[tuple[type[Asked], type[Run | FactorialRun], str], ...] = (
    (SavedRequest, Run, RUN),
    (SavedFactorial, FactorialRun, FACTORIAL),
)
REFRESH_SHARE = 20  # rewriting run.json takes at most one part in so many of the time


class RunDirectory:
    """The files of one run, held by this process alone."""

    def __init__(self, path: Path, lock: Flock) -> None:
        self.path = path
        self.lock = lock
        self._written_at = 0.0
        self._cost_s = 0.0

    def begin(self, request: Asked, plan: Plan | None = None) -> None:
        """Write down what will be done, before anything is."""
        if plan is not None:
            write_atomically(self.path / PLAN, plan.model_dump_json(indent=2) + "\n")
        write_atomically(self.path / REQUEST, request.to_json())

    def request(self, kind: type[AskedT]) -> AskedT:
        """What this run was asked to do; raises UsageError."""
        if not (self.path / REQUEST).exists():
            raise UsageError(f"{self.path} holds no run that was begun", "start one: ciwm bench")
        return read_record(self.path / REQUEST, kind)

    def plan(self) -> Plan:
        """The frozen plan; raises UsageError."""
        return read_part(self.path / PLAN, Plan)

    def launches(self) -> tuple[Launch, ...]:
        """All launches so far in order; those nobody saw end are written down as lost.

        One of which not even the job can be read is left out: its block is drawn anew.
        """
        folders = sorted((self.path / "launches").glob("*-*"))
        found = [self._launch(folder) for folder in folders]
        return tuple(
            sorted((one for one in found if one is not None), key=lambda launch: launch.number)
        )

    @property
    def last_number(self) -> int:
        """The highest number of a launch that was begun, whatever is left of it; 0 before any."""
        begun = (path.name.partition("-")[0] for path in (self.path / "launches").glob("*-*"))
        return max((int(number) for number in begun if DIGITS.fullmatch(number)), default=0)

    def _launch(self, folder: Path) -> Launch | None:
        result = folder / RESULT
        if not result.is_file():
            return lost_launch(folder)
        return read_part(result, Launch)

    def write_run(self, run: Run) -> None:
        """Replace run.json."""
        began = time.monotonic()
        write_atomically(self.path / RUN, run.to_json())
        self._written_at = time.monotonic()
        self._cost_s = self._written_at - began

    @property
    def may_refresh(self) -> bool:
        """Whether rewriting run.json now is cheap beside the time since it was last written."""
        return time.monotonic() - self._written_at >= REFRESH_SHARE * self._cost_s


def refuse_used(path: Path) -> None:
    """Raise UsageError for a folder that holds a run, or anything that we did not put there."""
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder")
    if (path / REQUEST).exists():
        raise UsageError(f"{path} holds a run already", "continue it: ciwm bench --resume DIR")
    if any(path.iterdir()) and not (path / LOCK).exists():
        raise UsageError(f"{path} is not empty", "give a new folder")


@contextlib.contextmanager
def held(path: Path) -> Iterator[RunDirectory]:
    """Hold a run's folder, made when absent; raises LaunchError while another process does.

    The lock is also held by what guards a launch, so a worker that outlives its controller for a
    moment counts.
    """
    make_folder(path)
    lock = Flock(path / LOCK)
    try:
        taken = lock.take(timeout_s=0)
    except OSError as error:
        raise LaunchError(f"cannot lock {lock.path}: {error.strerror}") from error
    if not taken:
        raise LaunchError(
            f"{path} is in use by {lock.holder()}", "wait for it to end, or stop it first"
        )
    try:
        yield RunDirectory(path, lock)
    finally:
        lock.release()


def last_interrupted(runs: Path, checkout: Path) -> Path:
    """The run of a checkout that was begun last and is not complete; raises UsageError."""
    found = []
    for path, (kind, record, name) in product(runs.iterdir(), _KINDS):
        with contextlib.suppress(CiwmError):
            asked = read_record(path / REQUEST, kind)
            if Path(asked.repository) == checkout and not _is_complete(path / name, record):
                found.append((asked.started_at, path))
    if not found:
        raise UsageError(
            f"no interrupted run of {checkout} in {runs}", "name its folder: --resume DIR"
        )
    return max(found)[1]


def _is_complete(path: Path, kind: type[Run | FactorialRun]) -> bool:
    try:
        return read_record(path, kind).complete
    except CiwmError:
        return False
