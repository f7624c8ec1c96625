"""What kind of downstream a report is about, and the evidence, for the top of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ciwm.report.detail import shortened, words
from ciwm.report.escape import visible

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records.sync import Shape

LINES_SHOWN = 8
LINE_LENGTH = 700
_STYLES = {"fork": "fork", "plugin": "plugin", "patches": "patch queue"}
_ANCESTRY = {"rewritten": ", history rewritten", "unrelated": "", "shared": ""}


def shape_title(shape: Shape) -> str:
    """The style, and that its history was rewritten or a sync squashed where that is so."""
    lost = any(not sync.healed for sync in shape.squashed)
    return _STYLES[shape.style] + _ANCESTRY[shape.ancestry] + (", sync squashed" if lost else "")


def shape_section(shape: Shape) -> str:
    """Markdown: one line for a plain shape, else a list."""
    title = f"Shape: **{shape_title(shape)}**"
    lines = [words(line, LINE_LENGTH) for line in shape.evidence[:LINES_SHOWN]]
    if len(lines) == 1:
        return f"{title} ({lines[0]})"
    return "\n".join([title, "", *(f"- {line}" for line in lines)]) if lines else title


def show_shape(shape: Shape, console: Console) -> None:
    """Print the style and its evidence."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    told = [shape_title(shape), *shape.evidence[:LINES_SHOWN]]
    for index, line in enumerate(told):
        grid.add_row("" if index else "shape", Text(visible(shortened(line, LINE_LENGTH))))
    console.print(grid)
    console.print()
