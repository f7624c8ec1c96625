"""`ciwm bench --factor`: four revisions, and whose the change is."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.commands.bench_run import Call
    from ciwm.records import Attribution, FactorialRun

FACTORS = "upstream,patches"


def factor(call: Call, names: tuple[str, ...]) -> int:
    """Build and measure the four combinations, and show the split of every series' change."""
    return _told(call, *_measured(call, names))


def resumed_factor(call: Call, path: Path, budget_s: float | None) -> int:
    """Go on with an interrupted run of four combinations, and show the split."""
    from ciwm.bench.factorial import resume_factorial  # noqa: PLC0415

    say = call.shown.say
    run = resume_factorial(
        path, stop=call.stop, on_progress=say, config=call.config, budget_s=budget_s
    )
    return _told(call, run, path)


def _told(call: Call, run: FactorialRun, path: Path) -> int:
    from ciwm.errors import INTERRUPTED, OK  # noqa: PLC0415
    from ciwm.launch.files import write_atomically  # noqa: PLC0415
    from ciwm.policy.attribution import attribute  # noqa: PLC0415

    found = attribute(run, call.config.gate.void)
    write_atomically(path / "attribution.json", found.to_json())
    _show(call, found)
    call.shown.say(f"run: {path / 'factorial.json'} ({run.stopped_because})")
    if not call.stop.is_set():
        return OK
    call.shown.say(f"next: ciwm bench --resume {path}")
    return INTERRUPTED


def factors(text: str) -> tuple[str, str]:
    """The names of the two changes; raises UsageError unless they are two different ones."""
    found = [name.strip() for name in text.split(",")]
    if len(found) != 2 or not all(found) or found[0] == found[1]:  # noqa: PLR2004  two factors
        raise click.UsageError(f"--factors is two names such as {FACTORS}, not {text!r}")
    return found[0], found[1]


def _measured(call: Call, names: tuple[str, ...]) -> tuple[FactorialRun, Path]:
    from ciwm.bench.factorial import measure_factorial  # noqa: PLC0415
    from ciwm.bench.factorial_request import FactorialRequest  # noqa: PLC0415
    from ciwm.bench.plan import selected  # noqa: PLC0415
    from ciwm.commands.bench_run import built, new_directory  # noqa: PLC0415
    from ciwm.stats.factorial import CELLS  # noqa: PLC0415

    options, repository = call.options, call.repository
    pair = factors(options["factors"] or FACTORS)
    selected(call.config, options["only"])
    revisions = [repository.revision(name) for name in names]
    source = repository.revision(options["workloads_from"] or names[-1])
    builds = [built(call, revision) for revision in revisions]
    if call.stop.is_set():
        raise click.Abort
    path = (options["out"] or new_directory()).resolve()
    seed = options["seed"] if options["seed"] is not None else secrets.randbelow(2**31)
    request = FactorialRequest(
        repository=repository,
        config=call.config,
        builds=dict(zip(CELLS, builds, strict=True)),
        factors=pair,
        workloads_from=source,
        directory=path,
        seed=seed,
        only=options["only"],
    )
    return measure_factorial(request, stop=call.stop, on_progress=call.shown.say), path


def _show(call: Call, found: Attribution) -> None:
    from ciwm.report.attribution import attribution_markdown, attribution_text  # noqa: PLC0415

    if call.options["as_json"]:
        click.echo(found.to_json(), nl=False)
    elif call.options["markdown"]:
        click.echo(attribution_markdown(found), nl=False)
    else:
        click.echo(attribution_text(found))
