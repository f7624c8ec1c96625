"""How much of a launch's noise comes from its own iterations, and would average out with more.

Iterations follow one another and are not independent, so a launch is cut into a few batches, each
long enough to hold what neighbours share; the spread of the batches' medians tells.
"""

from __future__ import annotations

from statistics import fmean, median, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCHES = 4
FEWEST = 2 * BATCHES  # iterations; with less, a batch is a single value


def within_variance(launches: Sequence[Sequence[float]]) -> float:
    """The variance that launches' medians owe to their iterations; 0 where these are too few."""
    found = [
        variance(_batch_medians(values)) / BATCHES for values in launches if len(values) >= FEWEST
    ]
    return fmean(found) if found else 0.0


def _batch_medians(values: Sequence[float]) -> list[float]:
    size = len(values) / BATCHES
    ends = [round(size * number) for number in range(BATCHES + 1)]
    return [median(values[ends[i] : ends[i + 1]]) for i in range(BATCHES)]
