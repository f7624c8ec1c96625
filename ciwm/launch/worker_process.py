"""One launch: a fresh process for one side of one workload, and the record of how it went."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ciwm.credentials import masker
from ciwm.launch.command import ResultError, read_samples
from ciwm.launch.exits import Verdict, classify, shortened
from ciwm.launch.files import cannot_write, make_folder, write_atomically
from ciwm.launch.launcher import node_of
from ciwm.launch.oom import oom_kills
from ciwm.launch.ranks import joined, rank_samples, read_journals
from ciwm.launch.sampling import watched
from ciwm.launch.series import cases
from ciwm.launch.worker_job import COMPILED, JOB, Order, Site, command, environment, job
from ciwm.proc import Ended, run_logged
from ciwm.records import Launch, Samples
from ciwm.records.run import LOADED_NOTHING

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ciwm.config import WorkloadConfig
    from ciwm.launch.journal import Journal
    from ciwm.launch.sampling import Sampler

LOG, RESULT = "log.txt", "result.json"
SPENT = "the budget was spent during this launch"


@dataclass(frozen=True)
class Limits:
    """What can end a launch early: the budget's rest, a stop; and locks to hold until it is gone.

    `variables` are added to the environment: which card a launch may see. `sampler`
    watches it.
    """

    left_s: float
    stop: threading.Event
    keep_open: Sequence[int] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    sampler: Sampler | None = None


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
    described = {"launch": identity, **job(order, site)}
    write_atomically(folder / JOB, json.dumps(described, indent=1) + "\n")
    before = oom_kills()
    with watched(limits.sampler, folder) as problems:
        ended, refusal = _run(order, site, limits, folder)
    shutil.rmtree(folder / COMPILED, ignore_errors=True)
    journals = read_journals(folder, order.workload.ranks)
    journal = joined(journals, order.workload, folder / LOG)
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
        unsteady=tuple(journal.unsteady),
        samples=samples,
        node=node_of(folder),
        ranks=rank_samples(journals),
        cards=tuple(order.cards),
        **_watched(limits.sampler, folder, journal, ended.cpu_s, problems),
    )
    write_atomically(folder / RESULT, launch.model_dump_json() + "\n")
    if launch.exit == "ok":
        site.keep_batches(journal.batches)
    return launch, journal


def _watched(
    sampler: Sampler | None, folder: Path, journal: Journal, cpu_s: float, problems: Sequence[str]
) -> dict[str, Any]:
    """The launch's fields on what its cards and its machine did meanwhile."""
    seen = sampler.seen(folder, journal.windows, cpu_s) if sampler is not None else None
    if seen is None:
        return {}
    problem = "; ".join([*problems, *([seen.problem] if seen.problem else [])])
    return {"telemetry": seen.cards, "host": seen.host, "telemetry_problem": problem}


def _run(order: Order, site: Site, limits: Limits, folder: Path) -> tuple[Ended, Verdict | None]:
    """The end of the process, or why there never was one."""
    log = folder / LOG
    try:
        log.touch()
    except OSError as error:
        raise cannot_write(log, error) from error
    argv = command(order, site, folder)
    try:
        ended = run_logged(
            argv,
            log=log,
            cwd=site.sources[order.side],
            env={**environment(order, site), **limits.variables},
            timeout_s=min(order.workload.timeout_s, limits.left_s),
            stop=limits.stop,
            keep_open=limits.keep_open,
        )
    except OSError as error:
        why = shortened(f"cannot start {error.filename or argv[0]}: {error.strerror or error}")
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
        return Verdict("interrupted", SPENT)
    base, head = site.builds["base"], site.builds["head"]
    one_python = base.directory != head.directory and base.python == head.python
    expected = order.workload.imports_build and one_python
    if verdict.exit == "ok" and expected and journal.own_files == 0:
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


def lost_launch(folder: Path) -> Launch | None:
    """The record of a launch whose controller died before it could say.

    None if it never began, or its job cannot be read. Its samples are kept, of several ranks each
    one's own; the record is written down, so that it is found again.
    """
    shutil.rmtree(folder / COMPILED, ignore_errors=True)
    try:
        job = json.loads((folder / JOB).read_text(encoding="utf-8"))
        identity = job["launch"]
        journals = read_journals(folder, int(job.get("ranks", 1)))
        journal = journals[0]
        launch = Launch(
            **identity,
            duration_s=0.0,
            exit="lost",
            detail="the controller died during this launch",
            warmup_iterations=journal.warmup_iterations,
            samples=journal.samples if len(journals) == 1 else (),
            ranks=rank_samples(journals),
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # ValidationError is one
        return None
    write_atomically(folder / RESULT, launch.model_dump_json() + "\n")
    return launch
