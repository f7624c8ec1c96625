"""One stage of the map, observed in fresh processes under the target interpreter.

Many subjects may share a process: importing a framework takes longer than observing. What fails in
company is tried again alone, so that nothing is blamed on a workload that another one broke.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ciwm.credentials import masker
from ciwm.errors import LaunchError
from ciwm.launch.exits import Verdict, classify, shortened
from ciwm.launch.files import make_folder, write_atomically
from ciwm.launch.journal import read_journal
from ciwm.launch.oom import oom_kills
from ciwm.launch.worker_job import DROPPED, ENTER, JOB, JOURNAL, activated
from ciwm.opmap.journal import MapJournal, Told, read_map_journal
from ciwm.proc import run_logged, stripped_environment
from ciwm.records.opmap import MapProblem

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ciwm.opmap.subjects import Subject
    from ciwm.records.run import ExitReason

RETRIES = 8  # in all; where more than so many fail, they fail for one and the same reason
START_S = 120.0  # what importing a framework may take on a busy machine
LOG = "log.txt"
_REASONS = ("failed", "timeout", "oom", "signal", "invalid", "interrupted", "lost")


@dataclass(frozen=True)
class Site:
    """Where a map is observed: the interpreter, the workloads' files, what is imported first.

    `directory` gets a folder for every process, with its job, journal and log. `cache` is where
    an observer may keep what takes long to make.
    """

    python: str
    root: Path
    python_path: tuple[Path, ...]
    directory: Path
    cache: Path
    timeout_s: float
    stop: threading.Event
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Observed:
    """What one stage saw of one subject; a problem may come with what was seen before it."""

    lines: tuple[dict[str, Any], ...] = ()
    problem: MapProblem | None = None
    interpreter: str = ""
    torch: str = ""
    torch_build: str = ""


def observe(
    stage: str, subject: Subject, site: Site, options: Mapping[str, Any] | None = None
) -> Observed:
    """Observe one stage of one workload in a fresh process."""
    return observe_all(stage, [subject], site, options)[subject.id]


def observe_all(
    stage: str,
    subjects: Sequence[Subject],
    site: Site,
    options: Mapping[str, Any] | None = None,
    *,
    apart: bool = False,
) -> dict[str, Observed]:
    """Observe one stage of several workloads, those of a folder in one process as far as it lives.

    With `apart` each has a process of its own. Once `site.stop` is set the rest is interrupted.
    """
    found: dict[str, Observed] = {}
    retries = 0
    batches = deque([one] for one in subjects) if apart else deque(_by_folder(subjects))
    while batches:
        batch = batches.popleft()
        if not batch:
            continue
        process = _run(stage, batch, site, options or {})
        unbegun = []
        for place, subject in enumerate(batch):
            told = process.journal.told.get(subject.id)
            if told is None and place > 0 and not process.stopped:
                unbegun.append(subject)
            elif place > 0 and _in_doubt(told) and retries < RETRIES and not process.stopped:
                retries += 1
                batches.append([subject])
            else:
                found[subject.id] = process.observed(told or Told(), subject)
        batches.appendleft(unbegun)
    return found


def _by_folder(subjects: Sequence[Subject]) -> list[list[Subject]]:
    """Files of two folders may import helpers of the same name: what is imported once stays."""
    folders: dict[str, list[Subject]] = {}
    for one in subjects:
        folders.setdefault(posixpath.dirname(one.file), []).append(one)
    return list(folders.values())


def _in_doubt(told: Told | None) -> bool:
    """Whether another workload may be to blame; what the observer itself refuses is no doubt."""
    if told is None:
        return False
    if told.problem is not None:
        return told.problem[0] != "invalid"
    return not told.settled


@dataclass(frozen=True)
class _Process:
    """One process that has ended: its journal, and why it ended too early, if it did."""

    stage: str
    journal: MapJournal
    why: Verdict
    log: Path
    stopped: bool

    def observed(self, told: Told, subject: Subject) -> Observed:
        """What it saw of a subject."""
        problem = told.problem
        if problem is None and not told.settled:
            problem = (self.why.exit, self.why.detail)
        return Observed(
            lines=tuple(told.lines),
            problem=None if problem is None else self._problem(problem, subject),
            interpreter=self.journal.interpreter,
            torch=self.journal.torch,
            torch_build=self.journal.torch_build,
        )

    def _problem(self, problem: tuple[str, str], subject: Subject) -> MapProblem:
        reason, detail = problem
        known: ExitReason = reason if reason in _REASONS else "failed"  # type: ignore[assignment]
        return MapProblem(
            stage=self.stage,
            workload=subject.id,
            reason=known,
            detail=shortened(masker()(detail)),
            log=str(self.log),
        )


def _run(stage: str, batch: list[Subject], site: Site, options: Mapping[str, Any]) -> _Process:
    """Start a worker for the batch, wait for its end, and read what it wrote."""
    folder = _new_folder(site.directory / "map", stage)
    log = folder / LOG
    log.touch()
    job = {
        "kind": "map",
        "stage": stage,
        "options": dict(options),
        "cache": str(site.cache),
        "timeout_s": site.timeout_s,
        "subjects": [_described(one, site) for one in batch],
    }
    write_atomically(folder / JOB, json.dumps(job, indent=1) + "\n")
    command = [site.python, str(ENTER), "--job", str(folder / JOB)]
    command += ["--journal", str(folder / JOURNAL)]
    before = oom_kills()
    try:
        ended = run_logged(
            command,
            log=log,
            cwd=site.root,
            env=environment(site),
            timeout_s=START_S + site.timeout_s * len(batch),
            stop=site.stop,
        )
    except OSError as error:
        what = f"cannot start {error.filename or command[0]}: {error.strerror or error}"
        raise LaunchError(what, "[build] python names the interpreter of the workloads") from error
    killed = (oom_kills() or 0) > (before or 0)
    why = classify(ended, read_journal(folder / JOURNAL), log, oom_killed=killed) or Verdict(
        "failed", "the worker ended before it was done: the workload called exit"
    )
    journal = read_map_journal(folder / JOURNAL)
    return _Process(stage, journal, why, log, stopped=ended.end == "interrupted")


def _new_folder(parent: Path, stage: str) -> Path:
    number = 0
    while (folder := parent / f"{stage}-{number:03d}").exists():
        number += 1
    make_folder(folder)
    return folder


def _described(subject: Subject, site: Site) -> dict[str, Any]:
    file = str(site.root / subject.file) if subject.file else ""
    return {
        "subject": subject.id,
        "workload": subject.workload,
        "entry": subject.entry,
        "file": file,
        "callable": subject.callable,
        "phase": subject.phase,
        "params": dict(subject.params),
        "devices": subject.devices,
        "path": [os.path.dirname(file)] if file else [],  # noqa: PTH120  as sys.path has it
    }


def environment(site: Site) -> dict[str, str]:
    """The environment of an observer: no secrets, the build's paths first, its venv active."""
    kept = {name: value for name, value in stripped_environment().items() if name not in DROPPED}
    kept["PYTHONPATH"] = os.pathsep.join(map(str, site.python_path))
    return {**kept, **activated(site.python, kept), **site.variables}
