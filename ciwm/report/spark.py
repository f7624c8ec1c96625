"""A trend in eight heights of a bar, small enough for a table cell."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.records import BumpReport, SeriesVerdict

Trends = dict[tuple[str, str], tuple[float, ...]]  # by series and metric, oldest first
BARS = "▁▂▃▄▅▆▇█"
_POINTS = 12
LEGEND = (
    "Bars: the newest runs of this machine on the base branch, oldest first, then after a gap this "
    "head; from the least value (lowest bar) to the largest, and never on a scale finer than twice "
    "the limit. They are of different days: they show drift, and decide nothing."
)


def trends_of(report: BumpReport) -> Trends:
    """The newest values of each series, oldest first, by series and metric."""
    return {
        (one.series, one.metric): tuple(point.value for point in one.points[-_POINTS:])
        for one in report.trends
    }


def bars(row: SeriesVerdict, before: tuple[float, ...]) -> str:
    """The bars of what was before and of head; empty where head was not measured.

    The scale is from the least to the largest, and never finer than the threshold, so that noise
    does not look like a mountain.
    """
    if row.head_value is None or not before:
        return ""
    values = (*before, row.head_value)
    low, high = min(values), max(values)
    least = 2 * (row.threshold_abs or abs(row.head_value) * row.threshold_pct / 100)
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    drawn = [_bar((value - low) / (high - low) if high > low else 0.5) for value in values]
    return f"{''.join(drawn[:-1])} {drawn[-1]}"


def _bar(share: float) -> str:
    if not isfinite(share):  # of values at the ends of what a float holds
        share = 0.5
    return BARS[min(len(BARS) - 1, max(0, int(share * len(BARS))))]
