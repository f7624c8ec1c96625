"""Probes: what a machine's cards could do at best, and whether one of them is sick."""

from __future__ import annotations

from pydantic import AwareDatetime

from ciwm.records.base import Record, RecordFile
from ciwm.records.environment import Environment
from ciwm.records.run import Better


class ProbeFigure(Record):
    """One figure of one device: the median of `values`, in `unit`.

    `what` is matmul (2 n^3 operations a product of n x n matrices), copy (within the device: bytes
    read and written), copy to device, copy from device, or launch (seconds of one of many small
    operations begun one after the other).
    """

    accelerator: int | None
    what: str
    dtype: str = ""
    unit: str
    better: Better
    median: float
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        """What it is a figure of: "matmul bfloat16"."""
        return f"{self.what} {self.dtype}".strip()


class Sick(Record):
    """A figure that is worse than it should be: `share` of what `than` has."""

    accelerator: int | None
    figure: str
    share: float
    than: str


class Probes(RecordFile):
    """What was probed on one machine; `unprobed` says what could not be, and why."""

    at: AwareDatetime
    environment: Environment
    figures: tuple[ProbeFigure, ...]
    unprobed: tuple[str, ...] = ()
    sick: tuple[Sick, ...] = ()
