"""What `ciwm sync-report` adds to the figures: budgets, hygiene, the rating, the agent's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.config_sync import SyncConfig
    from ciwm.records.sync import SyncReport


def judged_report(report: SyncReport, config: SyncConfig) -> SyncReport:
    """The report held against the configuration's budgets and thresholds."""
    from ciwm.policy.sync_gate import judged  # noqa: PLC0415
    from ciwm.upstream.classes import path_classifier  # noqa: PLC0415

    path_class = path_classifier({"ignored": config.hygiene.ignore})
    return judged(report, config, lambda path: path_class(path) == "ignored")


def check_agent_file(file: Path | None) -> None:
    """Raise UsageError for a file that cannot be written, before anything is measured."""
    import os  # noqa: PLC0415

    from ciwm.errors import UsageError  # noqa: PLC0415

    if file is None:
        return
    if not file.absolute().parent.is_dir():
        raise UsageError(f"cannot write {file}: there is no folder {file.absolute().parent}")
    if not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise UsageError(f"cannot write {file}: permission denied")


def write_agent_report(report: SyncReport, file: Path | None) -> int:
    """Write the file for an adaptation bot, where one was asked for: all of it, or nothing.

    4 when that cannot be done, which is told on stderr; what was measured is printed all the same.
    """
    import os  # noqa: PLC0415

    from ciwm.errors import ENVIRONMENT, OK, CiwmError  # noqa: PLC0415

    if file is None:
        return OK
    from ciwm.launch.files import write_atomically  # noqa: PLC0415
    from ciwm.report.agent import agent_report  # noqa: PLC0415

    page = agent_report(report)
    special = file.exists() and not file.is_file()  # /dev/stdout, a pipe
    try:
        if special or not os.access(file.absolute().parent, os.W_OK):
            file.write_text(page, encoding="utf-8", newline="\n")
        else:
            write_atomically(file.resolve(), page)
    except (CiwmError, OSError) as error:
        why = error.message if isinstance(error, CiwmError) else f"cannot write {file}: {error}"
        click.echo(f"error: {why}", err=True)
        return ENVIRONMENT
    return OK


def gate_exit_code(report: SyncReport) -> int:
    """1 when something is over; each such thing is told on stderr."""
    from ciwm.errors import NO, OK  # noqa: PLC0415

    if report.gate is None or report.gate.ok:
        return OK
    for line in report.gate.over:
        click.echo(f"over: {line}", err=True)
    return NO
