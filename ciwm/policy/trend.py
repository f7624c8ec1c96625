"""The points of a trend, from runs that were kept."""

from __future__ import annotations

from collections import defaultdict
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING

from ciwm.policy.trials import measured
from ciwm.records.trend import Trend, TrendPoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.records import Run, SeriesVerdict

_SERIES = 200


def trends(runs: Iterable[Run], verdicts: Iterable[SeriesVerdict]) -> tuple[Trend, ...]:
    """What each judged series was at head of each run, oldest first; none for a single point."""
    found: dict[tuple[str, str], list[TrendPoint]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.started_at):
        for key, value in _at_head(run).items():
            sha = run.head.revision.sha
            found[key].append(TrendPoint(sha=sha, at=run.started_at, value=value))
    keys = [(one.series, one.metric) for one in verdicts]
    return tuple(
        Trend(series=key[0], metric=key[1], points=tuple(found[key]))
        for key in keys[:_SERIES]
        if len(found[key]) > 1
    )


def _at_head(run: Run) -> dict[tuple[str, str], float]:
    """The median of the launches' medians at head, by series and metric."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for launch in run.launches:
        if launch.side == "head" and launch.exit == "ok":
            for key, samples in measured(launch).items():
                values[key].append(median(samples))
    middles = {key: median(found) for key, found in values.items()}
    return {key: value for key, value in middles.items() if isfinite(value)}
