"""How our pull requests fare upstream, on a terminal or in a CI log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from ciwm.report.escape import visible
from ciwm.report.sync_pulls import NOTES, counts, incoming_row, rows, sentence, waiting_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ciwm.records.sync_pulls import Pulls

_ROWS = 10  # of a list
_WITHIN = ("", "7 days", "30 days", "90 days")
_WAITING = ("PR", "waits", "answered", "title")
_INCOMING = ("change", "shared lines", "its lines", "files", "subject")


def show_pulls(pulls: Pulls | None, console: Console) -> None:
    """Print the section on a terminal; its notes come first."""
    if pulls is None:
        return
    console.print()
    console.print(Text("Our pull requests upstream", style="bold"))
    for note in pulls.notes[:NOTES]:
        console.print(Text(f"- {visible(note)}"))
    if pulls.merged_within is not None:
        console.print(Text(f"{visible(counts(pulls))}. {visible(sentence(pulls))}"))
        _show(_WITHIN, rows(pulls), console)
    if pulls.waiting:
        console.print(Text("Open, longest waiting first", style="bold"))
        _show(_WAITING, [waiting_row(pull) for pull in pulls.waiting[:_ROWS]], console)
        _rest((pulls.open or 0) - min(_ROWS, len(pulls.waiting)), "open", console)
    if pulls.incoming:
        console.print(Text("Incoming, most shared lines first", style="bold"))
        _show(_INCOMING, [incoming_row(change) for change in pulls.incoming[:_ROWS]], console)
        _rest((pulls.incoming_count or 0) - min(_ROWS, len(pulls.incoming)), "changes", console)


def _show(headers: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in headers:
        shown.add_column(header, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(visible(cell)) for cell in row))
    console.print(shown)
    console.print()


def _rest(number: int, what: str, console: Console) -> None:
    if number > 0:
        console.print(Text(f"and {number:,} more {what} (--json has them)", style="dim"))
