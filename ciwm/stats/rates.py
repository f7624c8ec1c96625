"""How often something may truly happen that was seen so many times."""

from __future__ import annotations

from math import comb

_HALVINGS = 60  # of a probability: far beyond what a count can tell


def upper_limit(count: int, trials: int, level: float = 0.95) -> float:
    """The rate that is excluded from above with confidence `level` (Clopper-Pearson, one-sided).

    One of 0 in 300 is 1 %; raises ValueError for a count that trials cannot give.
    """
    if not 0 <= count <= trials:
        raise ValueError(f"{count} of {trials} is no count")
    if count == trials:
        return 1.0
    low, high = count / trials, 1.0
    for _ in range(_HALVINGS):
        rate = (low + high) / 2
        if _at_most(count, trials, rate) > 1 - level:
            low = rate
        else:
            high = rate
    return high


def _at_most(count: int, trials: int, rate: float) -> float:
    """The probability of at most `count` in so many trials."""
    return sum(
        comb(trials, seen) * rate**seen * (1 - rate) ** (trials - seen) for seen in range(count + 1)
    )
