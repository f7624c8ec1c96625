"""`ciwm bench --calibrate`: one revision against itself, and what a gate can detect here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.commands.bench_run import Call
    from ciwm.records import Run


def told_calibration(call: Call, run: Run, path: Path) -> int:
    """Calibrate by the run, keep the result, and show it with the gate's audit of itself."""
    from ciwm.errors import OK  # noqa: PLC0415
    from ciwm.report.calibration import (  # noqa: PLC0415
        calibration_markdown,
        calibration_text,
    )
    from ciwm.story.calibrating import kept_calibration  # noqa: PLC0415

    found, audited = kept_calibration(run, call.config, call.repository, path, call.shown.say)
    if call.options["as_json"]:
        click.echo(found.to_json(), nl=False)
        call.shown.say(audited.words())
    elif call.options["markdown"]:
        click.echo(calibration_markdown(found, audited.words()), nl=False)
    else:
        click.echo(calibration_text(found, audited.words()))
    return OK
