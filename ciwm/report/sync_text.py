"""The sync report on a terminal or in a CI log: the answer first, then the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ciwm.report.detail import shortened
from ciwm.report.escape import visible
from ciwm.report.sync_drift import drift_style, show_drift
from ciwm.report.sync_gate import show_gate
from ciwm.report.sync_history_text import show_history
from ciwm.report.sync_patches import show_patches
from ciwm.report.sync_pulls_text import show_pulls
from ciwm.report.sync_shape import show_shape
from ciwm.report.sync_states import show_states
from ciwm.report.sync_words import answer, authors_hit, facts, scanned, signed
from ciwm.report.text_table import show_table

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records.sync import Conflicts, SyncReport

FILES_SHOWN = 60
COMMITS_SHOWN = 10
SUBJECT_LENGTH = 200
AUTHORS_LENGTH = 100
OBJECTS_SHOWN = 5


def show_sync(report: SyncReport, console: Console) -> None:
    """Print the report."""
    console.print(Text(_plain(answer(report)), style=_style(report)), soft_wrap=False)
    console.print()
    show_gate(report, console)
    show_shape(report.shape, console)
    _show_facts(report, console)
    show_patches(report.patches, console)
    if report.conflicts is not None and report.conflicts.files:
        _show_conflicts(report.conflicts, console)
        _show_culprits(report.conflicts, console)
    show_history(report, console)
    if report.carried is not None and report.carried.classes:
        rows = [
            (cost.name, str(cost.files), *signed(cost.lines_added, cost.lines_removed))
            for cost in report.carried.classes
        ]
        show_table("Carried, by path class", ("class", "files", "added", "removed"), rows, console)
    if report.carried is not None and report.carried.list:
        _show_commits(report, console)
    show_states(report.carried, console)
    show_pulls(report.pulls, console)
    show_drift(report, console)
    _show_notes(report, console)


def _style(report: SyncReport) -> str:
    if report.patches is not None:
        return "bold red" if report.patches.counts.fails else "bold green"
    if report.surface is not None:
        return drift_style(report)
    if report.behind.commits == 0:
        return "bold green"
    if report.conflicts is None or report.partial:
        return "bold yellow"
    return "bold green" if report.conflicts.clean else "bold red"


def _show_facts(report: SyncReport, console: Console) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, fact in facts(report):
        grid.add_row(name, Text(_plain(fact)))
    console.print(grid)


def _show_conflicts(conflicts: Conflicts, console: Console) -> None:
    rows = [
        (file.path, file.kind, str(file.hunk_count or "")) for file in conflicts.files[:FILES_SHOWN]
    ]
    show_table("Conflicting files", ("file", "kind", "hunks"), rows, console)
    _show_rest(conflicts.count - len(rows), "files", console)


def _show_culprits(conflicts: Conflicts, console: Console) -> None:
    console.print()
    if conflicts.scan is None:
        console.print("Which upstream commits bring them: ciwm sync-report --culprits 20")
        return
    for sentence in scanned(conflicts):
        console.print(Text(_plain(sentence)))
    rows = [
        (
            culprit.sha[:12],
            f"#{culprit.pr}" if culprit.pr else "",
            str(culprit.file_count),
            shortened(authors_hit(culprit), AUTHORS_LENGTH),
            shortened(culprit.subject, SUBJECT_LENGTH),
        )
        for culprit in conflicts.culprits[:FILES_SHOWN]
    ]
    if rows:
        title = "Upstream commits that bring the conflicts, oldest first"
        headers = ("commit", "PR", "files", "hits commits of", "subject")
        show_table(title, headers, rows, console)
        _show_rest(len(conflicts.culprits) - len(rows), "commits", console)


def _show_commits(report: SyncReport, console: Console) -> None:
    carried = report.carried
    if carried is None:
        return
    rows = [
        (
            commit.sha[:12],
            f"{commit.authored_at:%Y-%m-%d}",
            shortened(commit.subject, SUBJECT_LENGTH),
        )
        for commit in carried.list[:COMMITS_SHOWN]
    ]
    show_table("Carried commits, newest first", ("commit", "authored", "subject"), rows, console)
    _show_rest(carried.commits - len(rows), "commits", console)


def _show_rest(number: int, what: str, console: Console) -> None:
    if number > 0:
        console.print(Text(f"and {number} more {what} (--json has them)", style="dim"))


def _show_notes(report: SyncReport, console: Console) -> None:
    notes = list(report.notes)
    if report.missing_objects:
        named = ", ".join(report.missing_objects[:OBJECTS_SHOWN])
        more = len(report.missing_objects) - OBJECTS_SHOWN
        notes.insert(0, f"missing objects: {named}{f' and {more} more' if more > 0 else ''}")
    if not notes:
        return
    console.print()
    console.print(
        Text("Notes (this report is partial)" if report.partial else "Notes", style="bold")
    )
    grid = Table.grid(padding=(0, 1))
    for note in notes:
        grid.add_row("-", Text(_plain(note)))
    console.print(grid)


def _plain(text: str) -> str:
    return visible(text)
