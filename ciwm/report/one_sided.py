"""Where a verdict and the interval beside it seem to disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.records import SeriesVerdict


def needs_words(row: SeriesVerdict) -> bool:
    """Whether an unchanged series' interval reaches over the threshold.

    Its one-sided 95 % limit, which decided, does not: the end of a two-sided interval is the
    97.5 % one. The sentence of the series states the limit.
    """
    if row.outcome != "unchanged" or row.threshold_abs is not None:
        return False
    if row.ci_low is None or row.ci_high is None:
        return False
    worst = row.ci_high if row.better == "lower" else 1 / max(row.ci_low, 1e-9)
    return worst >= 1 + row.threshold_pct / 100
