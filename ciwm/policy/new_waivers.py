"""What a new waiver has to allow, and which waivers have nothing to allow any more."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from ciwm.gate_config import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ciwm.records import SeriesVerdict
    from ciwm.waivers import Waiver

_RECOVERED = ("unchanged", "improved")
_SPARE = 1.05  # a twentieth more than was seen, in the unit


def ceiling_for(row: SeriesVerdict) -> dict[str, float]:
    """The ceiling of a waiver for a regression: a percent more than was seen, or a twentieth.

    The key is ceiling_pct or ceiling_abs; of a regression by its slowest iterations it is theirs.
    """
    if row.difference is not None:
        return {"ceiling_abs": float(f"{abs(row.difference) * _SPARE:.4g}")}
    ratio = row.tail.ratio if row.by_tail and row.tail is not None else row.ratio
    return {"ceiling_pct": float(ceil(round(abs((ratio or 1.0) - 1) * 100, 6)) + 1)}


def can_be_waived(row: SeriesVerdict) -> bool:
    """Whether a waiver could cover it: a regression, and not beyond a limit that was set."""
    beyond = row.value_limit is not None and (row.head_value or 0.0) > row.value_limit
    return row.outcome == "regressed" and not beyond


def cases_of(
    rows: Iterable[SeriesVerdict], series: str, metric: str | None
) -> list[dict[str, Any]]:
    """Series, metric and ceiling of each regression that a name or glob covers."""
    return [
        {"series": row.series, "metric": row.metric, **ceiling_for(row)}
        for row in rows
        if can_be_waived(row)
        if matches(row.series, series) or matches(row.workload, series)
        if metric is None or matches(row.metric, metric)
    ]


def recovered(waivers: Iterable[Waiver], verdicts: Sequence[SeriesVerdict]) -> tuple[Waiver, ...]:
    """The waivers of which everything they cover was compared and is not slower."""
    found = []
    for waiver in waivers:
        own = [one for one in verdicts if waiver.covers(one.series, one.metric, one.workload)]
        if own and all(one.outcome in _RECOVERED for one in own):
            found.append(waiver)
    return tuple(found)
