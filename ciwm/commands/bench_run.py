"""What `ciwm bench` does once its command line is understood: build, measure, resume, tell."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Sequence

    from ciwm.commands.progress import Progress
    from ciwm.config import Config
    from ciwm.git import Repository
    from ciwm.records import BuildRecord, Calibration, Revision, Run


@dataclass(frozen=True)
class Call:
    """One call of the command: where, by which configuration and options, and how to stop it."""

    repository: Repository
    config: Config
    options: dict[str, Any]
    stop: threading.Event
    shown: Progress
    config_file: Path | None = None


def measured(
    call: Call, base_name: str, head_name: str, *, calibrate: bool = False
) -> tuple[Run, Path]:
    """Build both revisions and measure them side by side; the run and its folder."""
    import secrets  # noqa: PLC0415

    from ciwm.bench.measure import BenchRequest, measure  # noqa: PLC0415
    from ciwm.bench.place import place_of  # noqa: PLC0415
    from ciwm.bench.plan import check_workloads  # noqa: PLC0415
    from ciwm.launch.files import refuse_unwritable_folder  # noqa: PLC0415

    place = place_of(call.options["shard"], call.options["shards"])
    if call.options["out"] is not None:
        refuse_unwritable_folder(call.options["out"].absolute())  # not after two builds
    options, repository = call.options, call.repository
    base, head = repository.revision(base_name), repository.revision(head_name)
    source = repository.revision(options["workloads_from"] or head_name)
    check_workloads(repository, call.config, source, options["only"])  # not after two builds
    seed = options["seed"] if options["seed"] is not None else secrets.randbelow(2**31)
    base_build = built(call, base)
    head_build = base_build if calibrate else built(call, head)
    if call.stop.is_set():
        raise click.Abort
    directory = options["out"] or new_directory()
    request = BenchRequest(
        repository=repository,
        config=call.config,
        base=base_build,
        head=head_build,
        workloads_from=source,
        directory=directory.resolve(),
        seed=seed,
        only=options["only"],
        base_config=None if calibrate else _config_of(call, base),
        calibration=None if calibrate else _known(call, head_build),
        calibrate=calibrate,
        place=place,
    )
    with _in_use(directory), call.shown.group(f"measure into {directory}"):
        return measure(request, stop=call.stop, on_progress=call.shown.say), directory


def _config_of(call: Call, base: Revision) -> Config | None:
    """What base itself declares; one that this version cannot read tells nothing."""
    from ciwm.config import FILE_NAMES  # noqa: PLC0415
    from ciwm.errors import ConfigError  # noqa: PLC0415
    from ciwm.story.files_at import config_at, path_inside  # noqa: PLC0415

    names: Sequence[str] = FILE_NAMES
    if call.config_file is not None:
        inside = path_inside(call.repository, call.config_file)
        if inside is None:  # no commit has it: it is taken as it is, for both sides
            return call.config
        names = (inside,)
    try:
        return config_at(call.repository, base.sha, names)
    except ConfigError as error:
        call.shown.say(f"workloads that base alone declares go unnoticed: {error.message}")
        return None


def _known(call: Call, head: BuildRecord) -> Calibration | None:
    """What an earlier calibration knows of this machine."""
    from ciwm.story.calibrating import known_calibration  # noqa: PLC0415

    return known_calibration(call.repository, call.config, head.python, call.shown.say)


def built(call: Call, revision: Revision) -> BuildRecord:
    """The build of a revision, its log shown as it grows."""
    from ciwm.error_line import error_line  # noqa: PLC0415
    from ciwm.launch.builds import build  # noqa: PLC0415

    shown = call.shown
    with shown.group(f"build of {revision.ref} ({revision.sha[:12]})"):
        record = build(
            call.repository, revision, call.config.build, on_line=shown.chatter, stop=call.stop
        )
    shown.say(f"build of {revision.ref}: {record.status}, {record.duration_s:.1f} s")
    for line in () if record.ok else record.log_tail[-10:]:
        shown.say(f"  | {line}")
    if record.status == "failed":
        shown.say(f"  why: {error_line(record.log_tail)}")
    return record


def resumed(call: Call, resume_from: str) -> int:
    """Go on with the interrupted run of a folder (empty: the last one of this repository)."""
    from ciwm.bench.measure import resume  # noqa: PLC0415
    from ciwm.bench.run_directory import FACTORIAL, last_interrupted  # noqa: PLC0415
    from ciwm.bench.saved_request import home  # noqa: PLC0415
    from ciwm.launch.cache import kind_directory  # noqa: PLC0415

    if resume_from:
        path = Path(resume_from)
    else:
        path = last_interrupted(kind_directory("runs"), home(call.repository))
    budget_s = call.config.gate.budget_s if call.options["budget"] is not None else None
    if (path / FACTORIAL).is_file():
        from ciwm.commands.bench_factor import resumed_factor  # noqa: PLC0415

        with _in_use(path):
            return resumed_factor(call, path, budget_s)
    with _in_use(path), call.shown.group(f"resume {path}"):
        run = resume(
            path,
            stop=call.stop,
            on_progress=call.shown.say,
            config=call.config,
            budget_s=budget_s,
        )
    return told(call, run, path)


@contextmanager
def _in_use(path: Path) -> Iterator[None]:
    """Keep a run that is in the cache from being cleaned away meanwhile."""
    from ciwm.launch.cache import entry_lock, kind_directory  # noqa: PLC0415

    if path.resolve().parent != kind_directory("runs").resolve():
        yield
        return
    lock = entry_lock("runs", path.name)
    lock.take(shared=True, timeout_s=0)
    try:
        yield
    finally:
        lock.release()


def new_directory() -> Path:
    """A new folder among the cached runs, named by the time."""
    from datetime import datetime, timezone  # noqa: PLC0415
    from tempfile import mkdtemp  # noqa: PLC0415

    from ciwm.launch.cache import kind_directory  # noqa: PLC0415

    now = datetime.now(timezone.utc)
    return Path(mkdtemp(prefix=f"{now:%Y%m%dT%H%M%S}-", dir=kind_directory("runs")))


def told(call: Call, run: Run, path: Path) -> int:
    """Show the run, or what it calibrates, and what comes next; the exit code."""
    from ciwm.bench.comparison import INTERRUPTED  # noqa: PLC0415
    from ciwm.commands.bench_calibrate import told_calibration  # noqa: PLC0415
    from ciwm.errors import ENVIRONMENT, OK  # noqa: PLC0415
    from ciwm.errors import INTERRUPTED as EXIT_INTERRUPTED  # noqa: PLC0415
    from ciwm.report.run_text import run_text, saved_text  # noqa: PLC0415

    interrupted = run.stopped_because == INTERRUPTED
    built_both = all(arm.build is not None and arm.build.ok for arm in (run.base, run.head))
    if built_both and not interrupted and run.plan.purpose == "calibrate":
        return told_calibration(call, run, path)
    if call.options["as_json"]:
        click.echo(run.to_json(), nl=False)
    else:
        click.echo(run_text(run, call.config.gate.void))
    if saved := saved_text(run, call.config.gate):
        click.echo(saved, err=True)
    click.echo(f"run: {path / 'run.json'} ({run.stopped_because})", err=True)
    next_step = f"ciwm bench --resume {path}" if interrupted else f"ciwm gate {path}"
    click.echo(f"next: {next_step}", err=True)
    if interrupted:
        return EXIT_INTERRUPTED
    return OK if built_both else ENVIRONMENT
