"""`ciwm probe`: what this machine's cards can do at best, and whether one of them is sick."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ciwm.records.probe import Probes


@click.command()
@click.option(
    "--python",
    metavar="PYTHON",
    help="The interpreter that has the torch to probe with [default: [build] python, or python3].",
)
@click.option(
    "--expect",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="What an earlier `ciwm probe --json` found; 10 % less is sick.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the record and nothing else.")
def command(python: str | None, expect: Path | None, *, as_json: bool) -> int:
    """Measure matrix products by type, copies and launches of each card, some ten seconds each.

    A card that does less than 90 % of what the others of its name do, or of what is expected, is
    sick: exit code 1. Without a card the CPU is probed. The rates are what "percent of peak" can
    honestly mean on this machine.
    """
    from ciwm.bench.probes import compared, probe_all  # noqa: PLC0415
    from ciwm.commands.map_site import place_of, python_of  # noqa: PLC0415
    from ciwm.commands.progress import progress  # noqa: PLC0415
    from ciwm.devices import describe_host  # noqa: PLC0415
    from ciwm.errors import NO, OK  # noqa: PLC0415
    from ciwm.proc import stop_on_signals  # noqa: PLC0415
    from ciwm.records import read_record  # noqa: PLC0415
    from ciwm.records.probe import Probes  # noqa: PLC0415

    expected = read_record(expect, Probes) if expect is not None else None
    interpreter = python or python_of(place_of(None), None)
    with stop_on_signals() as stop, progress() as shown:
        found = probe_all(interpreter, describe_host(), stop, shown.say)
    if expected is not None:
        found = compared(found, expected, str(expect))
    if as_json:
        click.echo(found.to_json(), nl=False)
    else:
        _show(found)
    return NO if found.sick else OK


def _show(probes: Probes) -> None:
    from tabulate import tabulate  # noqa: PLC0415

    from ciwm.report.figures import rate  # noqa: PLC0415

    names = {card.index: f"{card.index}: {card.name}" for card in probes.environment.accelerators}
    rows = [
        (
            probes.environment.cpu_model if one.accelerator is None else names[one.accelerator],
            one.name,
            rate(one.median, one.unit),
        )
        for one in probes.figures
    ]
    click.echo(tabulate(rows, headers=("device", "probe", "median"), tablefmt="simple"))
    for said in probes.unprobed:
        click.echo(f"not probed: {said}")
    for sick in probes.sick:
        who = "" if sick.accelerator is None else f"accelerator {sick.accelerator}: "
        found = f"is {sick.share:.0%} of what {sick.than}"
        lost = f"was not measured, and {sick.than} has it"
        click.echo(f"sick: {who}{sick.figure} {found if sick.share else lost}")
