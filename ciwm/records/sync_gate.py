"""Budgets, hygiene and the rating: what the figures of a sync report amount to."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record

HygieneCheck = Literal["squashed", "markers", "evil", "pin"]
Level = Literal["low", "medium", "high"]


class Marker(Record):
    """A line that looks like a conflict marker, in a file that the downstream changed."""

    path: str
    line: int
    text: str


class PinMove(Record):
    """The last move of the pin went to an older upstream commit.

    Where `unknown` says why that cannot be told, `old` or `new` may be empty.
    """

    sha: str
    old: str
    new: str
    unknown: str = ""


class BudgetLine(Record):
    """One budget and what was found; None when it could not be measured, which is over as well.

    So is a lower bound: what was found where contents are missing, as the sentence says.
    """

    name: str
    limit: float
    found: float | None
    unit: str
    over: bool
    sentence: str


class HygieneFinding(Record):
    """Something that is bad form; `fails` where configuration counts it."""

    check: HygieneCheck
    sentence: str
    fails: bool


class SyncGate(Record):
    """`over` names each budget overrun and each failing check; `ok` when there is none."""

    ok: bool
    over: tuple[str, ...] = ()
    budgets: tuple[BudgetLine, ...] = ()
    hygiene: tuple[HygieneFinding, ...] = ()


class RatingFactor(Record):
    """One figure with the two thresholds it is held against; no level where it is not known."""

    name: str
    value: float | None
    unit: str
    medium: float
    high: float
    level: Level | None
    sentence: str


class Rating(Record):
    """The debt: the highest level of any known factor; `reasons` are those at that level."""

    level: Level | None
    reasons: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    factors: tuple[RatingFactor, ...] = ()
