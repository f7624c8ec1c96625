"""Options that several commands share, and what they refuse together."""

from __future__ import annotations

from pathlib import Path

import click

CONFIG = click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Configuration file [default: ciwm.toml or pyproject.toml of the checkout].",
)


def refuse_both(*, as_json: bool, markdown: bool) -> None:
    """Raise UsageError where a command is to print two forms at once."""
    if as_json and markdown:
        raise click.UsageError("--json and --markdown exclude each other")
