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


def write_agent_report(report: SyncReport, file: Path | None) -> None:
    """Write the file for an adaptation bot, where one was asked for; raises UsageError."""
    if file is None:
        return
    from ciwm.errors import UsageError  # noqa: PLC0415
    from ciwm.report.agent import agent_report  # noqa: PLC0415

    try:
        file.write_text(agent_report(report), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error


def gate_exit_code(report: SyncReport) -> int:
    """1 when something is over; each such thing is told on stderr."""
    from ciwm.errors import NO, OK  # noqa: PLC0415

    if report.gate is None or report.gate.ok:
        return OK
    for line in report.gate.over:
        click.echo(f"over: {line}", err=True)
    return NO
