"""What the next sync can be expected to take, told from past syncs of similar size.

The model is the past itself: of the syncs nearest in size (in ratio of upstream commits), the
share that conflicted, and the median and middle 80 % of files and lines. It fits no curve, and
says how well it would have foretold each past sync from the others.
"""

from __future__ import annotations

import random
from statistics import fmean
from typing import TYPE_CHECKING

from ciwm.records.sync_history import Cadence, Calibration, Expected, Forecast, Horizon
from ciwm.stats.nearest import brier, chance, nearest, neighbours, percentiles, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records.sync_history import PastSync
    from ciwm.stats.nearest import Range

FEWEST_SYNCS = 20
LEVEL = 0.8
WEEKS = (0, 1, 2, 4)
DAYS = (1, 3, 7, 14, 28)
RESAMPLES = 300
SEED = 20_250_601  # the same history gives the same figures


def forecast(syncs: Sequence[PastSync], behind: int, commits_per_week: float) -> Forecast:
    """The forecast from past syncs, for a downstream `behind` so many upstream commits."""
    if len(syncs) < FEWEST_SYNCS:
        made = f"{len(syncs)} past sync{'s' * (len(syncs) != 1)} could be replayed"
        return Forecast(refused=f"no forecast: {made}, and it needs {FEWEST_SYNCS}")
    cadences, clear = _cadences(syncs, commits_per_week)
    cheapest = min(cadences, key=lambda each: each.lines_per_week.value, default=None)
    return Forecast(
        commits_per_week=commits_per_week,
        horizons=tuple(
            _horizon(syncs, weeks, behind + round(weeks * commits_per_week)) for weeks in WEEKS
        ),
        cadences=cadences,
        cheapest_days=cheapest.days if cheapest else None,
        clear=clear,
        calibration=_calibration(syncs),
    )


def _horizon(syncs: Sequence[PastSync], weeks: float, commits: int) -> Horizon:
    alike = _alike(syncs, commits)
    return Horizon(
        weeks=weeks,
        upstream_commits=commits,
        alike=len(alike),
        chance=_expected(_chance(alike), digits=3),
        files=_expected(spread([sync.conflicted_files for sync in alike], LEVEL)),
        lines=_expected(spread([sync.hand_lines for sync in alike], LEVEL)),
        beyond=commits > max(sync.upstream_commits for sync in syncs),
    )


def _alike(syncs: Sequence[PastSync], commits: float) -> list[PastSync]:
    """The past syncs nearest in size; of those equally near, the newer ones."""
    sizes = [sync.upstream_commits for sync in syncs]
    return [syncs[index] for index in nearest(sizes, commits, neighbours(len(syncs)))]


def _chance(alike: Sequence[PastSync]) -> Range:
    return chance(sum(sync.kind == "conflict" for sync in alike), len(alike), LEVEL)


def _expected(found: Range, digits: int = 1) -> Expected:
    value, low, high = (round(number, digits) for number in found)
    return Expected(value=value, low=low, high=high)


def _cadences(
    syncs: Sequence[PastSync], commits_per_week: float
) -> tuple[tuple[Cadence, ...], bool]:
    """Hand lines a week at each cadence whose syncs are of a size seen before.

    The whole history is resampled for the intervals, and for how often each comes out first.
    """
    sizes = [sync.upstream_commits for sync in syncs]
    batches = {days: commits_per_week * days / 7 for days in DAYS}
    batches = {days: size for days, size in batches.items() if min(sizes) <= size <= max(sizes)}
    if not batches:
        return (), False
    draw = random.Random(SEED)
    drawn = [_costs(draw.choices(syncs, k=len(syncs)), batches) for _ in range(RESAMPLES)]
    costs = _costs(syncs, batches)
    cadences = tuple(
        Cadence(days=days, upstream_commits=round(size), lines_per_week=_cost(days, costs, drawn))
        for days, size in batches.items()
    )
    best = min(costs, key=lambda days: costs[days])
    wins = sum(min(each, key=lambda days: each[days]) == best for each in drawn)
    return cadences, len(cadences) > 1 and wins >= LEVEL * RESAMPLES


def _costs(syncs: Sequence[PastSync], batches: dict[int, float]) -> dict[int, float]:
    """Mean hand lines of syncs of that size, for as many syncs as a week has."""
    return {
        days: fmean(sync.hand_lines for sync in _alike(syncs, size)) * 7 / days
        for days, size in batches.items()
    }


def _cost(days: int, costs: dict[int, float], drawn: Sequence[dict[int, float]]) -> Expected:
    low, high = percentiles([each[days] for each in drawn], LEVEL)
    return Expected(value=round(costs[days], 1), low=round(low, 1), high=round(high, 1))


def _calibration(syncs: Sequence[PastSync]) -> Calibration:
    """Each sync foretold from all the others."""
    outcomes = [sync.kind == "conflict" for sync in syncs]
    chances, shares, files, lines = [], [], 0, 0
    for index, sync in enumerate(syncs):
        others = [*syncs[:index], *syncs[index + 1 :]]
        alike = _alike(others, sync.upstream_commits)
        chances.append(_chance(alike).value)
        shares.append(chance(sum(outcomes) - outcomes[index], len(others), LEVEL).value)
        files += _held(sync.conflicted_files, [each.conflicted_files for each in alike])
        lines += _held(sync.hand_lines, [each.hand_lines for each in alike])
    return Calibration(
        syncs=len(syncs),
        brier=round(brier(chances, outcomes), 4),
        base_brier=round(brier(shares, outcomes), 4),
        files_held=round(files / len(syncs), 3),
        lines_held=round(lines / len(syncs), 3),
    )


def _held(value: int, alike: Sequence[int]) -> bool:
    found = spread(alike, LEVEL)
    return found.low <= value <= found.high
