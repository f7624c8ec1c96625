"""Two changes, each with and without the other: whose the difference is.

A block launches each of the four combinations once, in an order drawn at random, so that what
drifts is shared. On the gate's scale the change of both is the sum of the first's alone, the
second's alone, and what only their meeting brings (the interaction).
"""

from __future__ import annotations

import hashlib
from itertools import permutations
from typing import TYPE_CHECKING, Literal, NamedTuple

from ciwm.stats.trimmed import trimmed_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Cell = Literal["neither", "first", "second", "both"]
CELLS: tuple[Cell, Cell, Cell, Cell] = ("neither", "first", "second", "both")
ORDERS = tuple(permutations(CELLS))
LEVEL = 0.95  # of the four intervals of a split together: each is asked in turn whose a change is
PARTS = 4


class Effect(NamedTuple):
    """A change on the gate's scale, and its interval: those of a split hold together with 95 %."""

    change: float
    low: float
    high: float


class Split(NamedTuple):
    """The change of both, and its three parts, which add up to it."""

    total: Effect
    first: Effect
    second: Effect
    interaction: Effect


def factorial_order(seed: int, workload: str, block: int, attempt: int) -> tuple[Cell, ...]:
    """The four combinations in the order of their launches: one of 24, fixed by the arguments."""
    text = f"2x2\0{seed}\0{workload}\0{block}\0{attempt}".encode()
    draw = int.from_bytes(hashlib.sha256(text).digest(), "big")
    return ORDERS[draw % len(ORDERS)]


def split(blocks: Sequence[Mapping[Cell, float]]) -> Split:
    """Split the change over blocks of one launch of each; needs two of them (ValueError)."""
    total = _effect([block["both"] - block["neither"] for block in blocks])
    first = _effect([block["first"] - block["neither"] for block in blocks])
    second = _effect([block["second"] - block["neither"] for block in blocks])
    meeting = [
        block["both"] - block["first"] - block["second"] + block["neither"] for block in blocks
    ]
    left = total.change - first.change - second.change
    return Split(total, first, second, _effect(meeting, left))


def _effect(contrasts: Sequence[float], change: float | None = None) -> Effect:
    """The trimmed mean with its interval, which is widened to hold a change that is given."""
    mean, error, quantile = trimmed_mean(contrasts, 1 - (1 - LEVEL) / PARTS / 2)
    center = mean if change is None else change
    low, high = mean - quantile * error, mean + quantile * error
    return Effect(center, min(low, center), max(high, center))
