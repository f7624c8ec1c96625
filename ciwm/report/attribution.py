"""Whose a change is, for a terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import name, table, words
from ciwm.report.escape import visible
from ciwm.report.figures import change, quantity
from ciwm.report.ranks import communication_table, table_markdown, table_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.records import Attribution
    from ciwm.records.factorial import Part, SeriesAttribution
    from ciwm.report.ranks import RankTable

_NOTHING = "–"


def attribution_text(found: Attribution) -> str:
    """A row a series, then its sentence, then what was not right, then communication."""
    from tabulate import tabulate  # noqa: PLC0415  only where it is used

    rows = [[f"{one.series} {one.metric}", *_cells(one)] for one in found.series]
    shown = tabulate(
        [[visible(cell) for cell in row] for row in rows],
        headers=[visible(header) for header in _headers(found)],
        tablefmt="simple",
        disable_numparse=True,
    )
    lines = [one.reason for one in found.series]
    notes = [f"note: {problem}" for problem in found.problems]
    shares = (visible(table_text(one), keep="\n") for one in _shares(found))
    return "\n".join([shown, *(visible(line) for line in (*lines, *notes)), *shares])


def attribution_markdown(found: Attribution) -> str:
    """The same as a Markdown section."""
    rows = [
        (f"{name(one.series)} {words(one.metric, 60)}", *(words(cell) for cell in _cells(one)))
        for one in found.series
    ]
    first, *others = _headers(found)
    headers = (first, *(f">{words(header)}" for header in others))
    told = "\n".join(f"- {words(one.reason)}" for one in found.series)
    notes = "\n".join(f"- ⚠️ {words(problem)}" for problem in found.problems)
    title = f"#### Whose change it is: {words(found.factors[0])} or {words(found.factors[1])}"
    shares = (part for one in _shares(found) for part in table_markdown(one))
    parts = [title, table(headers, rows), told, notes, *shares]
    return "\n\n".join(part for part in parts if part) + "\n"


def _shares(found: Attribution) -> Iterator[RankTable]:
    """The shares of communication, a row a combination; no table where nobody asked for them."""
    one, other = found.factors
    whose = {
        "neither": "before",
        "first": f"{one} alone",
        "second": f"{other} alone",
        "both": "together",
    }
    if found.communication:
        shares = ((whose[each.cell], each.share) for each in found.communication)
        yield communication_table("of", shares)


def _headers(found: Attribution) -> tuple[str, ...]:
    one, other = found.factors
    return ("series", "before", "together", f"{one} alone", f"{other} alone", "interaction")


def _cells(one: SeriesAttribution) -> tuple[str, ...]:
    before = one.values.get("neither")
    parts = (one.total, one.first, one.second, one.interaction)
    return (
        _NOTHING if before is None else quantity(before, one.unit),
        *(_NOTHING if part is None else _part(one, part) for part in parts),
    )


def _part(one: SeriesAttribution, part: Part) -> str:
    if one.threshold_abs is None:
        return f"{change(part.change)} ({change(part.low)} to {change(part.high)})"
    figures = (f"{value:+.4g}" for value in (part.change, part.low, part.high))
    middle, low, high = figures
    return f"{middle} ({low} to {high}) {one.unit}".rstrip()
