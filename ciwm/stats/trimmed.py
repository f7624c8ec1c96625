"""The trimmed mean and its error (Yuen): a mean that outlier launches do not carry off."""

from __future__ import annotations

from math import fsum, sqrt
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from ciwm.stats.student import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

TRIM = 0.2  # of the values, cut at each end


class TrimmedMean(NamedTuple):
    """The mean, its standard error, and how many errors lie between it and the limit."""

    mean: float
    error: float
    quantile: float


def trimmed_mean(values: Sequence[float], probability: float) -> TrimmedMean:
    """The 20 %-trimmed mean; `mean + quantile * error` is its one-sided limit at `probability`.

    Needs two values at least (ValueError).
    """
    if len(values) < 2:  # noqa: PLR2004  one value has no spread
        raise ValueError(f"a confidence limit needs two values, not {len(values)}")
    ordered, count = sorted(values), len(values)
    cut = int(TRIM * count)
    kept = ordered[cut : count - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    center = fmean(winsorised)
    squares = fsum((value - center) ** 2 for value in winsorised)
    error = sqrt(squares / (len(kept) * (len(kept) - 1)))
    return TrimmedMean(fmean(kept), error, t_quantile(probability, len(kept) - 1))
