"""`ciwm bench`: measure base and head side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ciwm.commands.options import CONFIG, refuse_both

if TYPE_CHECKING:
    from ciwm.config import Config

# by the first call: --resume goes on as it was begun
FIXED = (
    "only",
    "seed",
    "workloads_from",
    "max_launches",
    "prove_improvement",
    "out",
    "calibrate",
    "factor",
    "shard",
    "shards",
)
CONTRACT = """
A workload `python = "file.py:step"` is a function, called once an iteration. With a `setup` in the
same file, `state = setup(**params)` runs once, untimed, and `step(state)` is timed; without one,
`step(**params)` is. `python = "file.py:Class.step"` makes `Class(**params)` once and times
`.step()`. A `teardown` beside the step is called at the end. What an `inputs` beside it returns
(called like `setup`, or with the state) is gone through round by round, each call of the step
getting the next as its last argument. A step returns nothing, or a number or
tensor that must be finite, or a mapping with the metrics it reports itself. Work it leaves on a
CUDA stream of its own must be joined to the current stream. The worker itself measures `step_time`,
and once a launch, where declared in metrics, `first_step_time` (cold), `compile_time` (of
torch.compile), `peak_device_memory` (of torch's allocator) and `peak_rss`. With `devices` above 1
torchrun starts a rank a device, and a step takes as long as its slowest rank. With
`communication_share = true` a launch more a side (with --factor: a combination) is profiled, not
timed, for the share of a step that is communication. `collective = {...}` instead of `python`
times torch.distributed's own operations: docs/devices.md.

A workload `command = "..."` is run by `sh -ec` in the folder of the workloads' files. {out} is the
JSON file it writes: {"metric": number-or-list}, or {"samples": [{"metric": "...", "values": [...],
"series": "id/batch=8"}]}; or the results of another tool, which `format` names. {build} is the
side's build, {python} its interpreter, {workloads} the folder, {name} a parameter; all are quoted
for the shell. `{python} -m MODULE` runs the MODULE of each side's build, not a copy; a benchmark
that both sides must share is a script, by its path. Which code a command loads is not checked: its
Python path begins with its own build, and it must not install over that.
"""


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
    "--prove-improvement",
    is_flag=True,
    default=None,
    help="Go on where head is not slower, until an improvement is proved or excluded.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the run [default: a new one in the cache].",
)
@CONFIG
@click.option(
    "--resume",
    "resume_from",
    is_flag=False,
    flag_value="",
    metavar="[DIR]",
    help="Continue an interrupted run [default: the last one of this repository].",
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure one revision against itself [default: HEAD] and keep what can be detected.",
)
@click.option(
    "--factor",
    is_flag=True,
    help="Measure four revisions, BEFORE FIRST SECOND BOTH, and split the change.",
)
@click.option("--factors", metavar="NAME,NAME", help="What the two changes of --factor are called.")
@click.option("--shard", metavar="LABEL", help="This run's label in a matrix; see ciwm merge.")
@click.option(
    "--shards",
    metavar="LABEL,...",
    help="The labels of all its runs: the gate's family is that of all of them together.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the record and nothing else.")
@click.option("--markdown", is_flag=True, help="With --calibrate or --factor: print Markdown.")
def command(
    revisions: tuple[str, ...], resume_from: str | None, config_file: Path | None, **options: Any
) -> int:
    """Measure BASE and HEAD side by side and write a Run.

    Both are built first (from the cache when they are there). Then each workload is launched in
    blocks of two base and two head processes in a seeded random order, until the gate has seen
    enough of it or the budget is spent. What is measured is on disk at once: after an interruption
    (exit code 130) `--resume` goes on. Ends with 4 when a side does not build.

    `ciwm bench --calibrate [REV]` finds what can be detected on this machine, and writes that to
    the branch ciwm-data of this repository, or to the store that [store] url names.

    `ciwm bench --factor BEFORE FIRST SECOND BOTH` splits a change in two: BEFORE has neither of
    them, FIRST and SECOND one each. Say, old upstream and old patches, new upstream under old
    patches, old upstream under new patches, and both new.
    """
    from ciwm.commands.bench_factor import factor  # noqa: PLC0415
    from ciwm.commands.bench_run import Call, measured, resumed, told  # noqa: PLC0415
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
            call = Call(repository, config, options, stop, shown, config_file)
            if options["factor"]:
                return factor(call, revisions)
            if resume_from is not None:
                return resumed(call, resume_from)
            if options["calibrate"]:
                name = revisions[0] if revisions else "HEAD"
                run, path = measured(call, name, name, calibrate=True)
            else:
                run, path = measured(call, *revisions)
            return told(call, run, path)
    finally:
        release_builds()


def _check_usage(
    revisions: tuple[str, ...], resume_from: str | None, options: dict[str, Any]
) -> None:
    refuse_both(as_json=options["as_json"], markdown=options["markdown"])
    if resume_from is None:
        _check_revisions(len(revisions), options)
        return
    if revisions:
        raise click.UsageError("--resume goes on with the revisions of the run: name none")
    given = [name for name in FIXED if options[name] not in (None, (), False)]
    if given:
        name = {"only": "workload"}.get(given[0], given[0]).replace("_", "-")
        raise click.UsageError(f"--{name} was fixed when the run was begun")


def _check_revisions(number: int, options: dict[str, Any]) -> None:
    calibrates, factors = options["calibrate"], options["factor"]
    if options["shards"] is not None and (calibrates or factors):
        raise click.UsageError("--shards is for a run that compares BASE and HEAD")
    if calibrates and factors:
        raise click.UsageError("--calibrate and --factor exclude each other")
    if options["markdown"] and not (calibrates or factors):
        raise click.UsageError("--markdown is for --calibrate and --factor; see ciwm gate")
    if options["factors"] is not None and not factors:
        raise click.UsageError("--factors is for --factor")
    if calibrates and number > 1:
        raise click.UsageError("name one revision: ciwm bench --calibrate [REV]")
    if factors and number != 4:  # noqa: PLR2004  each change with and without the other
        raise click.UsageError("name four: ciwm bench --factor BEFORE FIRST SECOND BOTH")
    if number != 2 and not (calibrates or factors):  # noqa: PLR2004  base and head
        raise click.UsageError("name two revisions: ciwm bench BASE HEAD (or --resume)")


def _with_options(config: Config, options: dict[str, Any]) -> Config:
    """The configuration with what the command line states in the place of [gate]'s."""
    from pydantic import ValidationError  # noqa: PLC0415

    from ciwm.config import GateConfig  # noqa: PLC0415

    names = ("max_launches", "budget", "prove_improvement")
    stated = {name: options[name] for name in names if options[name] is not None}
    if not stated:
        return config
    kept = config.gate.model_dump(exclude={"budget_s"} if "budget" in stated else set())
    try:
        gate = GateConfig.model_validate({**kept, **stated})
    except ValidationError as error:
        words = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise click.UsageError(words) from error
    return config.model_copy(update={"gate": gate})
