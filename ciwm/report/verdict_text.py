"""A verdict on a terminal: what needs a look first, one line a series, then the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.changes import interval, seen
from ciwm.report.detail import clipped
from ciwm.report.escape import visible
from ciwm.report.figures import plural, quantity
from ciwm.report.one_sided import needs_words
from ciwm.report.ranks import rank_text
from ciwm.report.series_table import QUIET, by_severity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ciwm.records import SeriesVerdict, Verdict
    from ciwm.records.verdict import SeriesOutcome

_STYLES: dict[SeriesOutcome, str] = {
    "failed": "red",
    "missing": "red",
    "regressed": "red",
    "void": "yellow",
    "inconclusive": "yellow",
    "waived": "yellow",
    "new": "cyan",
    "unchanged": "green",
    "improved": "green",
}
_ROWS = 200
_NAME_LIMIT = 60


def show_verdict(verdict: Verdict, console: Console) -> None:
    """Print the table, the sentence of every series that needs a look, problems, and the answer."""
    rows = by_severity(verdict)
    if rows:
        console.print(_table(rows[:_ROWS]))
    if len(rows) > _ROWS:
        console.print(f"... and {plural(len(rows) - _ROWS, 'series')} more, none worse than these")
    told_last = len(rows) == 1 and rows[0].reason in verdict.reason
    for row in () if told_last else rows[:_ROWS]:
        if row.outcome not in QUIET or needs_words(row):
            _say(console, f"{row.outcome}: {row.reason}")
    for text in rank_text(verdict.devices):
        for line in text.split("\n"):
            _say(console, line)
    for problem in verdict.problems:
        _say(console, f"note: {problem}")
    _say(console, f"{verdict.outcome}: {verdict.reason}")


def _say(console: Console, line: str) -> None:
    console.print(visible(line), markup=False, highlight=False, soft_wrap=True)


def _table(rows: list[SeriesVerdict]) -> Table:
    from rich.table import Table  # noqa: PLC0415  slow to import
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for heading in ("series", "outcome", "base", "head", "change", "95% interval", "launches"):
        numeric = heading in ("base", "head", "change", "launches")
        table.add_column(
            heading,
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=heading in ("outcome", "change", "launches"),
        )
    for row in rows:
        cells = [Text(visible(cell)) for cell in _cells(row)]
        cells[1].stylize(_STYLES[row.outcome])
        table.add_row(*cells)
    return table


def _cells(row: SeriesVerdict) -> tuple[str, ...]:
    unit = clipped(row.unit, 20)
    values = ["" if v is None else quantity(v, unit) for v in (row.base_value, row.head_value)]
    return (
        f"{clipped(row.series, _NAME_LIMIT)} {clipped(row.metric, _NAME_LIMIT)}",
        row.outcome,
        *values,
        seen(row),
        interval(row, " to "),
        f"{row.launches.base}+{row.launches.head}",
    )
