"""Trend: a series on the base branch until now, as the store's runs have it."""

from __future__ import annotations

from pydantic import AwareDatetime

from ciwm.records.base import Record


class TrendPoint(Record):
    """One run: the commit, when it was measured, and the median of its launches' medians."""

    sha: str
    at: AwareDatetime
    value: float


class Trend(Record):
    """A series' points on one machine, oldest first.

    They were measured on different days, so they show drift and decide nothing.
    """

    series: str
    metric: str
    points: tuple[TrendPoint, ...]
