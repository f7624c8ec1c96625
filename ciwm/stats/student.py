"""Student's t for whole degrees of freedom: deciding needs no scipy (a second to import)."""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin, sqrt, tan

_HALVINGS = 80  # of an angle below pi/2: far beyond the precision of a float


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: int) -> float:
    """The t below which `probability` of Student's distribution lies; raises ValueError."""
    if freedom < 1 or not 0 < probability < 1:
        raise ValueError(f"no t quantile of {probability} with {freedom} degrees of freedom")
    if probability < 0.5:  # noqa: PLR2004  the distribution is symmetric about one half
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _within(middle, freedom) < 2 * probability - 1:
            low = middle
        else:
            high = middle
    return tan(low) * sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """P(|T| < sqrt(freedom) tan(angle)): the finite sum that holds for whole degrees of freedom."""
    square = cos(angle) ** 2
    if freedom % 2:
        term, total = cos(angle), 0.0
        for step in range(1, freedom - 1, 2):
            total += term
            term *= square * (step + 1) / (step + 2)
        return 2 / pi * (angle + sin(angle) * total)
    term, total = 1.0, 0.0
    for step in range(0, freedom - 1, 2):
        total += term
        term *= square * (step + 1) / (step + 2)
    return sin(angle) * total
