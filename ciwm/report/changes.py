"""The change of a series as people read it: a ratio in percent, or a difference in its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.policy.scale import unit_of_difference
from ciwm.report.figures import change, quantity

if TYPE_CHECKING:
    from ciwm.records import SeriesVerdict

_MINUS = "\N{MINUS SIGN}"


def seen(row: SeriesVerdict) -> str:
    """The change (`+6.1%`, `+12 MiB`); empty where nothing was compared."""
    if row.ratio is not None:
        return change(row.ratio)
    return "" if row.difference is None else _signed(row.difference, row.unit)


def interval(row: SeriesVerdict, between: str) -> str:
    """The ends of its 95 % interval with a word between them; empty where there is none."""
    if row.ci_low is not None and row.ci_high is not None:
        return f"{change(row.ci_low)}{between}{change(row.ci_high)}"
    if row.difference_low is None or row.difference_high is None:
        return ""
    return (
        f"{_signed(row.difference_low, row.unit)}{between}{_signed(row.difference_high, row.unit)}"
    )


def limit(row: SeriesVerdict) -> str:
    """The threshold, signed by the direction that is worse."""
    if row.of_build:
        growth = f"+{row.threshold_pct:g}%" if row.threshold_pct else ""
        most = f"at most {quantity(row.value_limit, row.unit)}" if row.value_limit else ""
        return ", ".join(part for part in (growth, most) if part)
    sign = "+" if row.better == "lower" else _MINUS
    if row.threshold_abs is not None:
        return f"{sign}{quantity(row.threshold_abs, unit_of_difference(row.unit))}"
    return f"{sign}{row.threshold_pct:g}%"


def _signed(difference: float, unit: str) -> str:
    sign = "+" if difference > 0 else _MINUS if difference < 0 else "±"
    return f"{sign}{quantity(abs(difference), unit_of_difference(unit))}"


def as_decided(row: SeriesVerdict) -> SeriesVerdict:
    """The row with the figures that decided: the slowest iterations' where these did."""
    tail = row.tail
    if tail is None or not row.by_tail:
        return row
    same = ("ratio", "ci_low", "ci_high", "base_value", "head_value", "threshold_pct")
    figures = {name: getattr(tail, name) for name in same}
    return row.model_copy(update={**figures, "metric": f"{row.metric}, slowest 5%"})
