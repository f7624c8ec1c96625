"""Calibration: how noisy unchanged code is on one machine, and what a gate can detect there."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from ciwm.records.base import Record, RecordFile
from ciwm.records.build import Revision
from ciwm.records.environment import Environment
from ciwm.records.run import Better, Series
from ciwm.records.verdict import SeriesOutcome

Way = Literal["launches", "iterations", "quieter"]


class WayOut(Record):
    """A way to make a threshold detectable.

    `cost` is the time it takes over today's; `amount` the launches a side, the iterations a
    launch, or, where only a quieter machine helps, the factor by which launches must vary less.
    """

    way: Way
    amount: float = Field(gt=0)
    cost: float = Field(gt=0)
    words: str


class SeriesCalibration(Record):
    """One series against itself. Sds are of launches, as logs or, with `threshold_abs`, in `unit`.

    `within` is the part that more iterations would average out, `between` the rest, and `noise`
    the whole as a gate's next bet would take it. `detectable` is the smallest threshold at which
    a slowdown of just that size is proved 9 times in 10 within `max_launches`, `blocked` the
    smallest slowdown that the series' own threshold blocks as often: in percent or in `unit`, None
    where not even a doubling is. `alarm` is a false one, by definition.
    """

    series: str
    metric: str
    workload: str
    unit: str
    better: Better
    threshold_pct: float
    threshold_abs: float | None = None
    launches: int
    iterations: int
    noise: float | None = Field(default=None, gt=0)
    between: float | None = None
    within: float | None = None
    detectable: float | None = None
    blocked: float | None = None
    outcome: SeriesOutcome
    alarm: bool
    reason: str
    ways_out: tuple[WayOut, ...] = ()

    def describes(self, series: Series) -> bool:
        """Whether this is the same quantity, judged on the same scale."""
        same = ("series", "metric", "unit", "better")
        on_same_scale = (self.threshold_abs is None) == (series.threshold_abs is None)
        return on_same_scale and all(getattr(self, n) == getattr(series, n) for n in same)


class Calibration(RecordFile):
    """One revision measured against itself (A/A) on one machine."""

    id: str
    at: AwareDatetime
    revision: Revision
    environment: Environment
    family_size: int
    alpha: float
    max_launches: int
    complete: bool
    stopped_because: str
    series: tuple[SeriesCalibration, ...]
    problems: tuple[str, ...] = ()
