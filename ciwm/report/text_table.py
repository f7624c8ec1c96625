"""A table with a title on a terminal or in a CI log; nothing is cut, long cells are folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from ciwm.report.escape import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

NUMBERS = ("files", "added", "removed", "hunks")  # columns aligned right


def show_table(
    title: str, headers: Sequence[str], rows: Iterable[Sequence[str]], console: Console
) -> None:
    """Print an empty line, the title and the table."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in headers:
        number = header in NUMBERS
        table.add_column(
            header, justify="right" if number else "left", overflow="fold", no_wrap=number
        )
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)
