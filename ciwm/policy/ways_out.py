"""What makes a threshold detectable that is not: the cheapest way first."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from ciwm.records.calibration import WayOut
from ciwm.stats.detectable import Bench, detects

if TYPE_CHECKING:
    from ciwm.policy.trial import Trial
    from ciwm.records import Run

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
MORE_LAUNCHES = (1.5, 2, 3, 4)
MORE_ITERATIONS = (2, 4, 8)
QUIETER = (0.75, 0.5, 0.33, 0.25, 0.1)


@dataclass(frozen=True)
class Spread:
    """The sd of launches, and the part of it that more iterations would average out."""

    sd: float
    within: float

    @property
    def between(self) -> float:
        """What is left between launches however long they are."""
        return sqrt(max(self.sd**2 - self.within**2, 0.0))

    def left(self, times: float) -> float:
        """The share of the sd that is left with so many times the iterations."""
        return sqrt(self.between**2 + self.within**2 / times) / self.sd


def ways_out(trial: Trial, bench: Bench, spread: Spread, run: Run) -> tuple[WayOut, ...]:
    """Ways to detect the series' threshold, cheapest first; none where it is detected already."""
    threshold = trial.gate.threshold
    if detects(bench, threshold):
        return ()
    found = [_launches(bench, threshold), _iterations(trial, bench, spread, run)]
    ways = sorted((way for way in found if way), key=lambda way: way.cost)
    quiet = _quieter(bench, threshold, spread, run)
    return (*ways, *([quiet] if quiet else []))


def _launches(bench: Bench, threshold: float) -> WayOut | None:
    for times in MORE_LAUNCHES:
        count = 2 * round(bench.max_launches * times / 2)
        if detects(bench.longer(count), threshold):
            words = f"max_launches = {count} ({times:g} times the launches at most)"
            return WayOut(way="launches", amount=count, cost=times, words=words)
    return None


def _iterations(trial: Trial, bench: Bench, spread: Spread, run: Run) -> WayOut | None:
    today = trial.fewest or 0
    share = _timed_share(trial, run)
    for times in MORE_ITERATIONS:
        if detects(bench.quieter(spread.left(times)), trial.gate.threshold):
            cost = 1 + (times - 1) * share
            part = (spread.within / spread.sd) ** 2
            words = (
                f"iterations = {today * times} ({cost:.2g} times the time): {part:.0%} of the "
                "noise is within launches"
            )
            return WayOut(way="iterations", amount=today * times, cost=cost, words=words)
    return None


def _quieter(bench: Bench, threshold: float, spread: Spread, run: Run) -> WayOut | None:
    """How much less launches must vary, and what makes them: it costs no time but an operator's."""
    for factor in QUIETER:
        if detects(bench.quieter(factor), threshold):
            break
    else:
        return None
    part = (spread.between / spread.sd) ** 2
    how = (
        "hold the card's clock ([bench] lock_clocks) and keep other processes off it"
        if run.head.environment.accelerators
        else "pin launches to cores that nothing else uses, and fix the clock"
    )
    words = (
        f"{how}, so that launches vary by {factor:.0%} of today ({part:.0%} is between launches)"
    )
    return WayOut(way="quieter", amount=factor, cost=1, words=words)


def _timed_share(trial: Trial, run: Run) -> float:
    """The share of a launch that its iterations take; all of it where that cannot be told."""
    unit = SECONDS.get(trial.series.unit)
    launches = [one for one in run.launches if one.workload == trial.series.workload]
    took_s = sum(one.duration_s for one in launches)
    if unit is None or not took_s:
        return 1.0
    timed = sum(
        sum(samples.values) * unit
        for one in launches
        for samples in one.samples
        if samples.metric == trial.series.metric
    )
    return min(timed / took_s, 1.0)
