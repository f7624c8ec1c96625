"""The scale on which a series is judged, and how its changes read: in percent, or in its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.stats.launches import as_ratio

if TYPE_CHECKING:
    from ciwm.policy.trial import Trial
    from ciwm.records import Series


def unit_of_difference(unit: str) -> str:
    """The unit of a difference: from 91 % to 90 % it is a point, and not a percent."""
    return "points" if unit == "%" else unit


def limit(series: Series) -> str:
    """The threshold: `3 %`, or `5 MiB`."""
    if series.threshold_abs is not None:
        return f"{series.threshold_abs:g} {unit_of_difference(series.unit)}".rstrip()
    return f"{series.threshold_pct:g} %"


def as_measured(series: Series, change: float) -> float:
    """A change for the worse as head/base as measured, or as head - base in the unit."""
    if series.threshold_abs is None:
        return as_ratio(change, series.better)
    return change if series.better == "lower" else -change


def shown(series: Series, change: float) -> float:
    """A change for the worse as a signed figure: percent, or the unit."""
    measured = as_measured(series, change)
    return measured if series.threshold_abs is not None else (measured - 1) * 100


def figure(series: Series, value: float, *, sign: bool = False) -> str:
    """A figure that `shown` gives, without its unit."""
    plus = "+" if sign else ""
    return format(value, f"{plus}.4g" if series.threshold_abs is not None else f"{plus}.1f")


def unit_of(series: Series) -> str:
    """What follows such a figure."""
    unit = "%" if series.threshold_abs is None else unit_of_difference(series.unit)
    return f" {unit}".rstrip()


def signed(series: Series, change: float) -> str:
    """A change for the worse with sign and unit: `+6.1 %`, or `-12 MiB`."""
    return figure(series, shown(series, change), sign=True) + unit_of(series)


def interval_as_measured(trial: Trial) -> tuple[float, float]:
    """The 95 % interval of head/base, or of head - base, as measured."""
    ends = [as_measured(trial.series, end) for end in trial.gate.interval()]
    return min(ends), max(ends)
