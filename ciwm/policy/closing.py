"""Which waivers should go: those that are over, and those whose regression is behind us.

That a comparison shows nothing slower does not close a waiver: it may wait for the change it was
made for. It is spent once a kept run of the base branch has the regression and this one has not.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from ciwm.policy.new_waivers import recovered
from ciwm.policy.trials import measured
from ciwm.records.closing import Closing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ciwm.policy.waiving import Waivers
    from ciwm.records import Run, Series, SeriesVerdict, Side
    from ciwm.waivers import Waiver


def closings(
    waivers: Waivers, verdicts: Sequence[SeriesVerdict], runs: Sequence[Run]
) -> tuple[Closing, ...]:
    """The waivers to be removed; `runs` are kept runs on the way to base, oldest first."""
    healed = recovered(waivers.list, verdicts)
    found = []
    for waiver in waivers.list:
        if waiver.expires < waivers.today:
            found.append(_closing(waiver, f"it expired on {waiver.expires:%Y-%m-%d}"))
        elif waiver in healed and (sha := _brought_by(waiver, runs)):
            why = f"its regression came with {sha[:12]}, and nothing it covers is slower since"
            found.append(_closing(waiver, why))
    return tuple(found)


def _closing(waiver: Waiver, why: str) -> Closing:
    return Closing(
        series=waiver.series,
        metric=waiver.metric,
        issue=waiver.issue,
        expires=waiver.expires,
        why=why,
    )


def _brought_by(waiver: Waiver, runs: Iterable[Run]) -> str:
    """The newest kept commit that made something slower that the waiver covers; else empty."""
    found = ""
    for run in runs:
        for series in run.plan.family:
            covered = waiver.covers(series.series, series.metric, series.workload)
            if covered and _slower(run, series):
                found = run.head.revision.sha
    return found


def _slower(run: Run, series: Series) -> bool:
    """Whether head's median is beyond the threshold, without asking how sure that is."""
    base, head = (_middle(run, series, side) for side in ("base", "head"))
    if base is None or head is None:
        return False
    worse = head - base if series.better == "lower" else base - head
    if series.threshold_abs is not None:
        return worse > series.threshold_abs
    return worse > abs(base) * series.threshold_pct / 100


def _middle(run: Run, series: Series, side: Side) -> float | None:
    key = (series.series, series.metric)
    launches = [one for one in run.launches if one.side == side and one.exit == "ok"]
    values = [median(found[key]) for one in launches if key in (found := measured(one))]
    return median(values) if values else None
