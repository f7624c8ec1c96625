"""Series that base's configuration declares and head's does not: removed, or renamed."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from ciwm.policy.words import named
from ciwm.records import LaunchCount, SeriesVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ciwm.records import Plan, Series

ALIKE = 0.6  # of two names, by difflib's ratio: below it, a rename is a guess


def gone_verdict(series: Series) -> SeriesVerdict:
    """The verdict on a series that head's configuration no longer declares."""
    reason = (
        f"{named(series)}: base declares it and head does not; if it is meant to be removed, "
        "[gate] removed of base names it"
    )
    return SeriesVerdict(
        series=series.series,
        metric=series.metric,
        workload=series.workload,
        unit=series.unit,
        better=series.better,
        outcome="missing",
        threshold_pct=series.threshold_pct,
        threshold_abs=series.threshold_abs,
        launches=LaunchCount(base=0, head=0),
        reason=reason,
    )


def renames(plan: Plan, verdicts: Iterable[SeriesVerdict]) -> Iterator[str]:
    """Missing series that look like one that only head has, in words."""
    found = list(verdicts)
    added = [
        one
        for one in found
        if one.workload in plan.added or (one.outcome == "new" and one.base_runs)
    ]
    for missing in found:
        if missing.outcome == "missing":
            name = _likeness(missing, added)
            if name:
                yield (
                    f"{missing.series} {missing.metric} may have been renamed to {name}, which "
                    "only head has: a new name starts a new series and compares with nothing"
                )


def _likeness(missing: SeriesVerdict, added: Sequence[SeriesVerdict]) -> str:
    """The name among those that only head has, of the same quantity, most like a missing one."""
    same = [
        one.series
        for one in added
        if (one.metric, one.unit, one.better) == (missing.metric, missing.unit, missing.better)
    ]
    close = difflib.get_close_matches(missing.series, same, n=1, cutoff=ALIKE)
    return close[0] if close else ""
