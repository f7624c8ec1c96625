"""Options that several commands share, and what they refuse together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records import BumpReport

CONFIG = click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Configuration file [default: ciwm.toml or pyproject.toml of the checkout].",
)

_LOG_WIDTH = 120


class Seconds(click.FloatRange):
    """A duration that ends: click's own range lets "nan" through."""

    name = "seconds"

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The seconds of what was typed; fails where they are no finite number of at least 0."""
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is no finite number of seconds.", param, ctx)
        return seconds


def wide_console() -> Console:
    """Standard output as rich prints to it: in a log, which has no width, tables are not folded."""
    from rich.console import Console  # noqa: PLC0415  slow to import

    console = Console()
    return console if console.is_terminal else Console(width=_LOG_WIDTH)


def print_bump(report: BumpReport, *, as_json: bool) -> None:
    """Print a bump's report on standard output, as the record or in words."""
    if as_json:
        click.echo(report.to_json(), nl=False)
        return
    from ciwm.report.bump_text import show_bump  # noqa: PLC0415  rich is slow to import

    show_bump(report, wide_console())


def refuse_both(*, as_json: bool, markdown: bool) -> None:
    """Raise UsageError where a command is to print two forms at once."""
    if as_json and markdown:
        raise click.UsageError("--json and --markdown exclude each other")
