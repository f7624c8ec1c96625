"""Samples: iterations as they were measured."""

from __future__ import annotations

from typing import Annotated

from pydantic import FailFast, Field

from ciwm.records.base import Record


class Samples(Record):
    """Iterations of one series in one launch, in the order they were taken, warm-up excluded.

    Where a tool kept none, `values` is one figure, and `aggregate` says of what ("median of 200
    requests").
    Each value is the mean of `calls` calls, timed together because one is too short for a clock.
    """

    series: str
    metric: str
    values: Annotated[tuple[float, ...], FailFast()]  # of a million wrong ones, one is told
    aggregate: str = ""
    calls: int = Field(default=1, ge=1)
