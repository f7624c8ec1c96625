"""Samples: iterations as they were measured."""

from __future__ import annotations

from typing import Annotated

from pydantic import FailFast

from ciwm.records.base import Record


class Samples(Record):
    """Iterations of one series in one launch, in the order they were taken, warm-up excluded."""

    series: str
    metric: str
    values: Annotated[tuple[float, ...], FailFast()]  # of a million wrong ones, one is told
