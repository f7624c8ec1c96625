"""Past syncs and the forecast on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from ciwm.report.escape import visible
from ciwm.report.sync_history_words import (
    HORIZON_TITLES,
    forecast_sentences,
    history_sentences,
    horizon_rows,
)

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records.sync import SyncReport


def show_history(report: SyncReport, console: Console) -> None:
    """Print what past syncs took and what the next ones can be expected to."""
    if report.sync_history is None:
        return
    console.print()
    console.print(Text("Past syncs", style="bold"))
    for sentence in history_sentences(report.sync_history):
        console.print(Text(visible(sentence)))
    if report.forecast is None:
        return
    rows = horizon_rows(report.forecast)
    if rows:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for title in HORIZON_TITLES:
            table.add_column(title.lower(), justify="left" if title == "Merging" else "right")
        for row in rows:
            table.add_row(*row)
        console.print()
        console.print(Text("Forecast", style="bold"))
        console.print(table)
    for sentence in forecast_sentences(report.forecast):
        console.print(Text(visible(sentence)))
