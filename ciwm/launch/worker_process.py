"""One launch: a fresh process for one side of one workload, and the record of how it went."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.credentials import masker
from ciwm.launch.command import ResultError, read_samples, script
from ciwm.launch.exits import Verdict, classify, shortened
from ciwm.launch.files import cannot_write, make_folder, write_atomically
from ciwm.launch.journal import Journal, read_journal
from ciwm.launch.oom import oom_kills
from ciwm.launch.series import SECONDS_IN, STEP_TIME, cases
from ciwm.launch.workloads import python_entry
from ciwm.proc import Ended, run_logged, stripped_environment
from ciwm.records import Launch, Samples

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from ciwm.config import WorkloadConfig
    from ciwm.records import BuildRecord, Side

ENTER = Path(__file__).resolve().parent.parent / "worker" / "enter.py"
DROPPED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH", "PYTHONINSPECT")
LOADED_NOTHING = "loaded nothing from its build"
JOB, JOURNAL, LOG, RESULT = "job.json", "journal.jsonl", "log.txt", "result.json"


@dataclass(frozen=True)
class Site:
    """What all launches of a run share: the run's folder, both builds, the workloads' files.

    `sources` holds a copy of the workload files for each side, so that what a launch leaves there
    never reaches the other side.
    """

    directory: Path
    checkout: Path
    builds: Mapping[Side, BuildRecord]
    sources: Mapping[Side, Path]
    python_path: tuple[str, ...]


@dataclass(frozen=True)
class Order:
    """One launch of the plan."""

    number: int
    workload: WorkloadConfig
    side: Side
    block: int
    attempt: int
    position: int

    @property
    def folder(self) -> str:
        """Where its files are, below the run's folder."""
        return f"launches/{self.number:04d}-{self.workload.id}-{self.side}"


@dataclass(frozen=True)
class Limits:
    """What can end a launch early: the budget's rest, a stop; and locks to hold until it is gone.

    `variables` are added to the environment: which card a launch may see.
    """

    left_s: float
    stop: threading.Event
    keep_open: Sequence[int] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def run_launch(order: Order, site: Site, limits: Limits) -> tuple[Launch, Journal]:
    """Run one launch to its end and write its files; what goes wrong in it is in the record."""
    folder = site.directory / order.folder
    make_folder(folder)
    started_at = datetime.now(timezone.utc)
    identity = {
        **{name: getattr(order, name) for name in ("number", "side", "block", "attempt")},
        "workload": order.workload.id,
        "position": order.position,
        "started_at": started_at.isoformat(),
        "log": f"{order.folder}/{LOG}",
    }
    job = {"launch": identity, **_job(order, site)}
    write_atomically(folder / JOB, json.dumps(job, indent=1) + "\n")
    before = oom_kills()
    ended, refusal = _run(order, site, limits, folder)
    journal = read_journal(folder / JOURNAL)
    killed = (oom_kills() or 0) > (before or 0)
    samples, verdict = _judged(order.workload, ended, journal, folder, oom_killed=killed)
    verdict = refusal or _explained(verdict, order, site, limits, journal)
    launch = Launch(
        **identity,
        duration_s=round(ended.duration_s, 6),
        exit=verdict.exit,
        exit_code=None if refusal else ended.status,
        detail=masker()(verdict.detail),
        warmup_iterations=journal.warmup_iterations,
        samples=samples,
    )
    write_atomically(folder / RESULT, launch.model_dump_json() + "\n")
    return launch, journal


def _run(order: Order, site: Site, limits: Limits, folder: Path) -> tuple[Ended, Verdict | None]:
    """The end of the process, or why there never was one."""
    log = folder / LOG
    try:
        log.touch()
    except OSError as error:
        raise cannot_write(log, error) from error
    command = _command(order, site, folder)
    try:
        ended = run_logged(
            command,
            log=log,
            cwd=site.sources[order.side],
            env={
                **environment(site.builds[order.side], site.python_path),
                **limits.variables,
            },
            timeout_s=min(order.workload.timeout_s, limits.left_s),
            stop=limits.stop,
            keep_open=limits.keep_open,
        )
    except OSError as error:
        why = shortened(f"cannot start {error.filename or command[0]}: {error.strerror or error}")
        return Ended(1, 0.0, "exited", 0), Verdict("failed", why)
    return ended, None


def _judged(
    workload: WorkloadConfig, ended: Ended, journal: Journal, folder: Path, *, oom_killed: bool
) -> tuple[tuple[Samples, ...], Verdict]:
    """The samples, and the exit reason once they are looked at too."""
    verdict = classify(ended, journal, folder / LOG, oom_killed=oom_killed)
    if workload.command is not None:
        try:
            samples = read_samples(workload, folder)
        except ResultError as error:
            return (), verdict or Verdict("invalid", shortened(str(error)))
        return samples, verdict or _completeness(workload, samples)
    samples = journal.samples
    if verdict is None and not journal.ended:
        verdict = Verdict("failed", "exit status 0 before the worker was done: it called exit")
    return samples, verdict or _completeness(workload, samples)


def _explained(
    verdict: Verdict, order: Order, site: Site, limits: Limits, journal: Journal
) -> Verdict:
    """The budget's end is ours, not the workload's; and a launch without its build is remarked."""
    if verdict.exit == "timeout" and limits.left_s < order.workload.timeout_s:
        return Verdict("interrupted", "the budget was spent during this launch")
    base, head = site.builds["base"], site.builds["head"]
    one_python = base.directory != head.directory and base.python == head.python
    if verdict.exit == "ok" and one_python and journal.own_files == 0:
        return Verdict("ok", LOADED_NOTHING)
    return verdict


def _completeness(workload: WorkloadConfig, samples: Sequence[Samples]) -> Verdict:
    have = {(one.series, one.metric) for one in samples}
    for case in cases(workload):
        for metric in workload.declared_metrics:
            if (case.series, metric) not in have:
                names = sorted({name for series, name in have if series == case.series})
                others = f" (it has: {', '.join(names)})" if names else ""
                return Verdict("invalid", f"no samples of {case.series} {metric}{others}")
    return Verdict("ok")


def _command(order: Order, site: Site, folder: Path) -> list[str]:
    build = site.builds[order.side]
    if order.workload.python is not None:
        job, journal = str(folder / JOB), str(folder / JOURNAL)
        return [build.python, str(ENTER), "--job", job, "--journal", journal]
    values = {
        "build": build.directory,
        "python": build.python,
        "workloads": str(site.sources[order.side]),
    }
    return ["/bin/sh", "-ec", script(order.workload, values, folder)]


def _job(order: Order, site: Site) -> dict[str, Any]:
    """What the worker reads; a command is written down as it is run."""
    workload = order.workload
    if workload.python is None:
        folder = site.directory / order.folder
        return {"kind": "command", "argv": _command(order, site, folder)}
    file, name = python_entry(workload)
    source = site.sources[order.side]
    metrics = workload.declared_metrics
    return {
        "kind": "bench",
        "side": order.side,
        "file": str(source / file),
        "callable": name,
        "path": [str((source / file).parent)],
        "build": site.builds[order.side].directory,
        "own": [site.builds[order.side].directory, str(source)],
        "foreign": _foreign(order.side, site),
        "series": [{"series": c.series, "params": dict(c.params)} for c in cases(workload)],
        "schedule": {
            "iterations": workload.iterations,
            "warmup_iterations": workload.warmup_iterations,
            "warmup_s": workload.warmup_s,
            "time_metric": STEP_TIME if STEP_TIME in metrics else None,
            "time_scale": SECONDS_IN[metrics[STEP_TIME].unit] if STEP_TIME in metrics else 1.0,
            "reported": [metric for metric in metrics if metric != STEP_TIME],
        },
    }


def _foreign(side: Side, site: Site) -> dict[str, str]:
    """Folders this side must load nothing from."""
    other: Side = "head" if side == "base" else "base"
    own, others = site.builds[side].directory, site.builds[other].directory
    folders = {} if own == others else {others: f"the {other} build"}
    return {**folders, str(site.checkout): "the checkout that ciwm was started in"}


def environment(build: BuildRecord, python_path: Sequence[str]) -> dict[str, str]:
    """The environment of a launch: no secrets, and Python paths of this side's build alone.

    An inherited PYTHONPATH is dropped: in CI it often names the checkout, which is head's.
    """
    kept = {name: value for name, value in stripped_environment().items() if name not in DROPPED}
    entries = [os.path.normpath(Path(build.directory, entry)) for entry in python_path]
    kept["PYTHONPATH"] = os.pathsep.join(entries)
    python = Path(build.python)
    if python.is_absolute():
        kept["PATH"] = os.pathsep.join([str(python.parent), kept.get("PATH", os.defpath)])
        kept.pop("VIRTUAL_ENV", None)
        if (python.parent.parent / "pyvenv.cfg").is_file():
            kept["VIRTUAL_ENV"] = str(python.parent.parent)
    return kept


def lost_launch(folder: Path) -> Launch | None:
    """The record of a launch whose controller died before it could say; None if it never began.

    Its samples are kept; the record is written down, so that it is found again.
    """
    try:
        identity = json.loads((folder / JOB).read_text(encoding="utf-8"))["launch"]
    except (OSError, ValueError, KeyError):
        return None
    journal = read_journal(folder / JOURNAL)
    launch = Launch(
        **identity,
        duration_s=0.0,
        exit="lost",
        detail="the controller died during this launch",
        warmup_iterations=journal.warmup_iterations,
        samples=journal.samples,
    )
    write_atomically(folder / RESULT, launch.model_dump_json() + "\n")
    return launch
