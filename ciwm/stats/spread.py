"""How much launches of one side vary, and how much of it more iterations would average out."""

from __future__ import annotations

from math import sqrt
from statistics import fmean, median, variance
from typing import TYPE_CHECKING

from ciwm.stats.gate import BLOCK, CLIP

if TYPE_CHECKING:
    from collections.abc import Sequence

MEDIAN_OF_NORMAL = 0.6745  # of the size of a standard normal value
BATCHES = 4
FEWEST = 2 * BATCHES  # iterations; with less, a batch is a single value


def clipped_sd(base: Sequence[float], head: Sequence[float]) -> float:
    """The launch sd around the pairs of a block's side, outliers counted as CLIP sds at most.

    What a gate that starts from the right guess would have learnt from these blocks.
    """
    halves = [
        abs(arm[start] - arm[start + 1]) / sqrt(2)
        for arm in (base, head)
        for start in range(0, len(arm) - 1, BLOCK)
    ]
    typical = median(halves) / MEDIAN_OF_NORMAL
    cap = CLIP * typical or max(halves)
    return sqrt(fmean(min(half, cap) ** 2 for half in halves))


def within_variance(launches: Sequence[Sequence[float]]) -> float:
    """The variance that launches' medians owe to their iterations; 0 where these are too few.

    Iterations follow one another and are not independent, so a launch is cut into a few batches,
    each long enough to hold what neighbours share; the spread of the batches' medians tells.
    """
    found = [
        variance(_batch_medians(values)) / BATCHES for values in launches if len(values) >= FEWEST
    ]
    return fmean(found) if found else 0.0


def _batch_medians(values: Sequence[float]) -> list[float]:
    size = len(values) / BATCHES
    ends = [round(size * number) for number in range(BATCHES + 1)]
    return [median(values[ends[i] : ends[i + 1]]) for i in range(BATCHES)]
