"""What the next sync can be expected to take, told from past syncs of similar size.

The model is the past itself: of the syncs nearest in size (in ratio of upstream commits), the
share that conflicted, and the median and middle 80 % of files and lines. It fits no curve, and
says how well it would have foretold each past sync from the others.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ciwm.records.sync_history import Cadence, Calibration, Expected, Forecast, Horizon
from ciwm.stats.nearest import brier, chance, nearest, neighbours, percentiles, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.records.sync_history import PastSync
    from ciwm.stats.nearest import Range

FEWEST_SYNCS = 20
LEVEL = 0.8
FAR = 2
WEEKS = (0, 1, 2, 4)
DAYS = (1, 3, 7, 14, 28)
RESAMPLES = 300
SEED = 20_250_601  # the same history gives the same figures


@dataclass(frozen=True)
class Outlook:
    """Where the downstream stands: commits behind, upstream's pace, and what merging now gives.

    `conflicts_now` is None where the merge could not be tried as a whole.
    """

    behind: int
    commits_per_week: float
    conflicts_now: int | None = None


def forecast(syncs: Sequence[PastSync], outlook: Outlook) -> Forecast:
    """The forecast from past syncs, newest first."""
    if len(syncs) < FEWEST_SYNCS:
        made = f"{len(syncs)} past sync{'s' * (len(syncs) != 1)} could be replayed"
        return Forecast(refused=f"no forecast: {made}, and it needs {FEWEST_SYNCS}")
    cadences, clear = _cadences(syncs, outlook.commits_per_week)
    cheapest = min(cadences, key=lambda each: each.lines_per_week.value, default=None)
    return Forecast(
        commits_per_week=outlook.commits_per_week,
        horizons=tuple(_horizons(syncs, outlook)),
        cadences=cadences,
        cheapest_days=cheapest.days if cheapest else None,
        clear=clear,
        calibration=_calibration(syncs),
    )


def _horizons(syncs: Sequence[PastSync], outlook: Outlook) -> Iterator[Horizon]:
    pace, behind = outlook.commits_per_week, outlook.behind
    foretold = [_horizon(syncs, weeks, behind + round(weeks * pace)) for weeks in WEEKS]
    if outlook.conflicts_now is None:
        yield from foretold
        return
    now = _tried(syncs, behind, outlook.conflicts_now)
    yield now
    for horizon in foretold[1:]:
        least = {
            part: _at_least(getattr(horizon, part), getattr(now, part))
            for part in ("chance", "files", "lines")
        }
        yield horizon.model_copy(update=least if outlook.conflicts_now else {})


def _horizon(syncs: Sequence[PastSync], weeks: float, commits: int) -> Horizon:
    alike = _alike(syncs, commits)
    return Horizon(
        weeks=weeks,
        upstream_commits=commits,
        alike=len(alike),
        chance=_expected(_chance(alike), digits=3),
        files=_expected(spread([sync.conflicted_files for sync in alike], LEVEL)),
        lines=_expected(spread([sync.hand_lines for sync in alike], LEVEL)),
        beyond=not _like(commits, [sync.upstream_commits for sync in alike]),
    )


def _tried(syncs: Sequence[PastSync], behind: int, files: int) -> Horizon:
    """Merging now, where the conflicting files are known."""
    alike = _alike_in_files(syncs, files)
    chance, known = float(files > 0), float(files)
    return Horizon(
        weeks=0,
        upstream_commits=behind,
        alike=len(alike),
        chance=Expected(value=chance, low=chance, high=chance),
        files=Expected(value=known, low=known, high=known),
        lines=_expected(spread([sync.hand_lines for sync in alike], LEVEL)),
        beyond=not _like(files, [sync.conflicted_files for sync in alike]),
        tried=True,
    )


def _like(size: float, sizes: Sequence[int]) -> bool:
    """Whether a size is not far above most of those it is told from."""
    return size <= FAR * max(1, median(sizes))


def _at_least(later: Expected, now: Expected) -> Expected:
    return Expected(
        value=max(later.value, now.value),
        low=max(later.low, now.low),
        high=max(later.high, now.high),
    )


def _alike(syncs: Sequence[PastSync], commits: float) -> list[PastSync]:
    """The past syncs nearest in size; of those equally near, the newer ones."""
    sizes = [sync.upstream_commits for sync in syncs]
    return [syncs[index] for index in nearest(sizes, commits, neighbours(len(syncs)))]


def _alike_in_files(syncs: Sequence[PastSync], files: int) -> list[PastSync]:
    """The past syncs nearest in conflicting files: ten suffice for so close a relation."""
    sizes = [sync.conflicted_files for sync in syncs]
    return [syncs[index] for index in nearest(sizes, files, min(10, len(syncs)))]


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
    batches = {days: commits_per_week * days / 7 for days in DAYS}
    batches = {days: size for days, size in batches.items() if _seen(syncs, size)}
    if not batches:
        return (), False
    draw = random.Random(SEED)
    drawn = [_costs(draw.choices(syncs, k=len(syncs)), batches) for _ in range(RESAMPLES)]
    costs = _costs(syncs, batches)
    cadences = tuple(
        Cadence(
            days=days,
            upstream_commits=round(size),
            lines_per_week=_cost(
                commits_per_week * costs[days], [commits_per_week * each[days] for each in drawn]
            ),
        )
        for days, size in batches.items()
    )
    best = min(costs, key=costs.__getitem__)
    wins = sum(min(each, key=each.__getitem__) == best for each in drawn)
    return cadences, len(cadences) > 1 and wins >= LEVEL * RESAMPLES


def _seen(syncs: Sequence[PastSync], size: float) -> bool:
    """Whether past syncs are spread around a size, none of them all too far."""
    sizes = [sync.upstream_commits for sync in _alike(syncs, size)]
    return _like(size, sizes) and median(sizes) <= FAR * size


def _costs(syncs: Sequence[PastSync], batches: dict[int, float]) -> dict[int, float]:
    """Hand lines per upstream commit in past syncs of each size."""
    alike = {days: _alike(syncs, size) for days, size in batches.items()}
    return {
        days: sum(sync.hand_lines for sync in group)
        / max(1, sum(sync.upstream_commits for sync in group))
        for days, group in alike.items()
    }


def _cost(value: float, drawn: Sequence[float]) -> Expected:
    low, high = percentiles(drawn, LEVEL)
    return Expected(value=round(value, 1), low=round(low, 1), high=round(high, 1))


def _calibration(syncs: Sequence[PastSync]) -> Calibration:
    """Each sync foretold from all the others."""
    outcomes = [sync.kind == "conflict" for sync in syncs]
    chances, shares, files, lines, tried = [], [], 0, 0, 0
    for index, sync in enumerate(syncs):
        others = [*syncs[:index], *syncs[index + 1 :]]
        alike = _alike(others, sync.upstream_commits)
        chances.append(_chance(alike).value)
        shares.append(chance(sum(outcomes) - outcomes[index], len(others), LEVEL).value)
        files += _held(sync.conflicted_files, [each.conflicted_files for each in alike])
        lines += _held(sync.hand_lines, [each.hand_lines for each in alike])
        near = _alike_in_files(others, sync.conflicted_files)
        tried += _held(sync.hand_lines, [each.hand_lines for each in near])
    return Calibration(
        syncs=len(syncs),
        brier=round(brier(chances, outcomes), 4),
        base_brier=round(brier(shares, outcomes), 4),
        files_held=round(files / len(syncs), 3),
        lines_held=round(lines / len(syncs), 3),
        tried_lines_held=round(tried / len(syncs), 3),
    )


def _held(value: int, alike: Sequence[int]) -> bool:
    found = spread(alike, LEVEL)
    return found.low <= value <= found.high
