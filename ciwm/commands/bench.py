"""`ciwm bench`: measure base and head side by side."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator

    from ciwm.commands.progress import Progress
    from ciwm.config import Config
    from ciwm.git import Repository
    from ciwm.records import BuildRecord, Revision, Run

CONTRACT = """
A workload `python = "file.py:step"` is a function, called once an iteration. With a `setup` in the
same file, `state = setup(**params)` runs once, untimed, and `step(state)` is timed; without one,
`step(**params)` is. `python = "file.py:Class.step"` makes `Class(**params)` once and times
`.step()`. A `teardown` beside the step is called at the end. A step returns nothing, or a number or
tensor that must be finite, or a mapping with the metrics it reports itself. Work it leaves on a
CUDA stream of its own must be joined to the current stream.

A workload `command = "..."` is run by `sh -ec` in the folder of the workloads' files. {out} is the
JSON file it writes: {"metric": number-or-list}, or {"samples": [{"metric": "...", "values": [...],
"series": "id/batch=8"}]}. {build} is the side's build, {python} its interpreter, {workloads} the
folder, {name} a parameter; all are quoted for the shell.
"""


@dataclass(frozen=True)
class _Call:
    """One call of the command: where, by which configuration and options, and how to stop it."""

    repository: Repository
    config: Config
    options: dict[str, Any]
    stop: threading.Event
    shown: Progress


@click.command(epilog=CONTRACT)
@click.argument("revisions", nargs=-1, metavar="[BASE HEAD]")
@click.option("-w", "--workload", "only", multiple=True, metavar="ID", help="Only this workload.")
@click.option("--seed", type=click.IntRange(0), help="Seed of the launch order [default: drawn].")
@click.option(
    "--workloads-from",
    metavar="REV",
    help="Revision whose workload files both sides run [default: HEAD's argument].",
)
@click.option("--max-launches", type=click.IntRange(4), help="Launches a side [default: config].")
@click.option("--budget", metavar="TIME", help="Time for all launches: 90s, 20min, 1h.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the run [default: a new one in the cache].",
)
@click.option(
    "--config",
    "config_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Configuration file [default: ciwm.toml or pyproject.toml of the checkout].",
)
@click.option(
    "--resume",
    "resume_from",
    is_flag=False,
    flag_value="",
    metavar="[DIR]",
    help="Continue an interrupted run [default: the last one of this repository].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the Run and nothing else.")
def command(
    revisions: tuple[str, ...],
    resume_from: str | None,
    config_file: Path | None,
    *,
    as_json: bool,
    **options: Any,
) -> int:
    """Measure BASE and HEAD side by side and write a Run.

    Both are built first (from the cache when they are there). Then each workload is launched in
    blocks of two base and two head processes in a seeded random order, until the gate has seen
    enough of it or the budget is spent. What is measured is on disk at once: after an interruption
    (exit code 130) `--resume` goes on. Ends with 4 when a side does not build.
    """
    from ciwm.commands.progress import progress  # noqa: PLC0415
    from ciwm.config import find_config, read_config  # noqa: PLC0415
    from ciwm.git import Repository  # noqa: PLC0415
    from ciwm.launch.builds import release_builds  # noqa: PLC0415
    from ciwm.proc import stop_on_signals  # noqa: PLC0415

    _check_usage(revisions, resume_from, options)
    repository = Repository.open(Path.cwd())
    config = read_config(config_file) if config_file else find_config(repository.root or Path())
    config = _with_options(config, options)
    try:
        with stop_on_signals() as stop, progress() as shown:
            call = _Call(repository, config, options, stop, shown)
            if resume_from is None:
                run, path = _measured(call, *revisions)
            else:
                run, path = _resumed(call, resume_from)
    finally:
        release_builds()
    return _told(run, path, as_json=as_json)


def _check_usage(
    revisions: tuple[str, ...], resume_from: str | None, options: dict[str, Any]
) -> None:
    if resume_from is None:
        if len(revisions) != 2:  # noqa: PLR2004  base and head
            raise click.UsageError("name two revisions: ciwm bench BASE HEAD (or --resume)")
        return
    if revisions:
        raise click.UsageError("--resume goes on with the revisions of the run: name none")
    fixed = ("only", "seed", "workloads_from", "max_launches", "out")
    given = [name for name in fixed if options[name] not in (None, ())]
    if given:
        name = {"only": "workload"}.get(given[0], given[0]).replace("_", "-")
        raise click.UsageError(f"--{name} was fixed when the run was begun")


def _with_options(config: Config, options: dict[str, Any]) -> Config:
    """The configuration with --max-launches and --budget in the place of [gate]'s."""
    from pydantic import ValidationError  # noqa: PLC0415

    from ciwm.config import GateConfig  # noqa: PLC0415

    stated = {k: options[k] for k in ("max_launches", "budget") if options[k] is not None}
    if not stated:
        return config
    kept = config.gate.model_dump(exclude={"budget_s"} if "budget" in stated else set())
    try:
        gate = GateConfig.model_validate({**kept, **stated})
    except ValidationError as error:
        words = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise click.UsageError(words) from error
    return config.model_copy(update={"gate": gate})


def _measured(call: _Call, base_name: str, head_name: str) -> tuple[Run, Path]:
    import secrets  # noqa: PLC0415

    from ciwm.bench.measure import BenchRequest, measure  # noqa: PLC0415
    from ciwm.bench.plan import selected  # noqa: PLC0415

    options, repository = call.options, call.repository
    selected(call.config, options["only"])  # a misspelt workload must not wait for two builds
    base, head = repository.revision(base_name), repository.revision(head_name)
    source = repository.revision(options["workloads_from"] or head_name)
    seed = options["seed"] if options["seed"] is not None else secrets.randbelow(2**31)
    builds = _built(call, base), _built(call, head)
    if call.stop.is_set():
        raise click.Abort
    directory = options["out"] or _new_directory()
    request = BenchRequest(
        repository=repository,
        config=call.config,
        base=builds[0],
        head=builds[1],
        workloads_from=source,
        directory=directory.resolve(),
        seed=seed,
        only=options["only"],
    )
    with _in_use(directory), call.shown.group(f"measure into {directory}"):
        return measure(request, stop=call.stop, on_progress=call.shown.say), directory


def _built(call: _Call, revision: Revision) -> BuildRecord:
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


def _resumed(call: _Call, resume_from: str) -> tuple[Run, Path]:
    from ciwm.bench.measure import resume  # noqa: PLC0415
    from ciwm.bench.run_directory import last_interrupted  # noqa: PLC0415
    from ciwm.bench.saved_request import home  # noqa: PLC0415
    from ciwm.launch.cache import kind_directory  # noqa: PLC0415

    if resume_from:
        path = Path(resume_from)
    else:
        path = last_interrupted(kind_directory("runs"), home(call.repository))
    budget_s = call.config.gate.budget_s if call.options["budget"] is not None else None
    with _in_use(path), call.shown.group(f"resume {path}"):
        run = resume(
            path,
            stop=call.stop,
            on_progress=call.shown.say,
            config=call.config,
            budget_s=budget_s,
        )
    return run, path


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


def _new_directory() -> Path:
    """A new folder among the cached runs, named by the time."""
    from datetime import datetime, timezone  # noqa: PLC0415
    from tempfile import mkdtemp  # noqa: PLC0415

    from ciwm.launch.cache import kind_directory  # noqa: PLC0415

    now = datetime.now(timezone.utc)
    return Path(mkdtemp(prefix=f"{now:%Y%m%dT%H%M%S}-", dir=kind_directory("runs")))


def _told(run: Run, path: Path, *, as_json: bool) -> int:
    from ciwm.bench.measure import INTERRUPTED  # noqa: PLC0415
    from ciwm.errors import ENVIRONMENT, OK  # noqa: PLC0415
    from ciwm.errors import INTERRUPTED as EXIT_INTERRUPTED  # noqa: PLC0415
    from ciwm.report.run_text import run_text  # noqa: PLC0415

    interrupted = run.stopped_because == INTERRUPTED
    if as_json:
        click.echo(run.to_json(), nl=False)
    else:
        click.echo(run_text(run))
    click.echo(f"run: {path / 'run.json'} ({run.stopped_because})", err=True)
    next_step = f"ciwm bench --resume {path}" if interrupted else f"ciwm gate {path}"
    click.echo(f"next: {next_step}", err=True)
    if interrupted:
        return EXIT_INTERRUPTED
    built = all(arm.build is not None and arm.build.ok for arm in (run.base, run.head))
    return OK if built else ENVIRONMENT
