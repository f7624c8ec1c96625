"""Closing: a waiver that has done its work or is over, and why it should go."""

from __future__ import annotations

from datetime import date

from ciwm.records.base import Record


class Closing(Record):
    """A waiver of the base, as it is told apart from others, and the reason to remove it."""

    series: str
    metric: str
    issue: str
    expires: date
    why: str
