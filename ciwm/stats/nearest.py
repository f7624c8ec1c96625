"""Foretelling from what was nearest in size: no curve is fitted, the cases themselves speak.

Sizes are compared by ratio: 20 is as far from 40 as 100 from 200.
"""

from __future__ import annotations

from math import floor, sqrt
from statistics import NormalDist, median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUNDING = 1e-9  # (1 - 0.8) / 2 is a little less than a tenth


class Range(NamedTuple):
    """A value and the ends of its range."""

    value: float
    low: float
    high: float


def neighbours(cases: int) -> int:
    """How many cases to ask: three in ten, at least ten (or all there are) and at most forty."""
    return min(cases, max(10, min(40, round(0.3 * cases))))


def nearest(sizes: Sequence[float], size: float, number: int) -> list[int]:
    """The indices of the cases nearest in ratio; of those equally near, the earlier ones."""
    ratio = [max((1 + each) / (1 + size), (1 + size) / (1 + each)) for each in sizes]
    return sorted(range(len(sizes)), key=lambda index: (ratio[index], index))[:number]


def chance(successes: int, cases: int, level: float) -> Range:
    """The chance of a success, never quite 0 or 1, with its Wilson confidence interval.

    The chance is (successes + 1/2) / (cases + 1), as of Jeffreys' prior. Needs one case at least
    (ValueError).
    """
    if cases < 1:
        raise ValueError("a chance without a case")
    z = NormalDist().inv_cdf((1 + level) / 2)
    found = successes / cases
    middle = (found + z * z / (2 * cases)) / (1 + z * z / cases)
    half = z / (1 + z * z / cases) * sqrt(found * (1 - found) / cases + z * z / (4 * cases**2))
    value = (successes + 0.5) / (cases + 1)
    return Range(value, max(0.0, middle - half), min(1.0, middle + half))


def spread(values: Sequence[float], level: float) -> Range:
    """The median, and the order statistics between which the next value falls at that level.

    With few values the range is wider than asked: it never leaves what was seen. Needs one value
    at least (ValueError).
    """
    if not values:
        raise ValueError("a spread of nothing")
    ordered = sorted(values)
    cut = floor((len(ordered) + 1) * (1 - level) / 2 + _ROUNDING)
    low = max(cut, 1) - 1
    return Range(median(ordered), ordered[low], ordered[len(ordered) - 1 - low])


def brier(chances: Sequence[float], outcomes: Sequence[bool]) -> float:
    """The mean square of chance minus outcome (Brier 1950)."""
    pairs = zip(chances, outcomes, strict=True)
    return sum((chance - outcome) ** 2 for chance, outcome in pairs) / len(chances)


def percentiles(values: Sequence[float], level: float) -> tuple[float, float]:
    """The ends of the middle part of a bootstrap's results."""
    ordered = sorted(values)
    cut = floor((1 - level) / 2 * (len(ordered) - 1) + _ROUNDING)
    return ordered[cut], ordered[len(ordered) - 1 - cut]
