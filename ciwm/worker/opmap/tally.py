"""Verdicts of one operator, counted, with the gravest case kept."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, Dict, Optional, Tuple

from .judge import EMPTY, Judged

Line = Dict[str, Any]


class Tally:
    """Verdicts of one operator and dtype in one direction, with the worst case kept."""

    def __init__(self) -> None:
        self.counts: Dict[str, Counter[str]] = {}
        self.worst: Optional[Tuple[Judged, str, str]] = None

    def add(self, source: str, judged: Judged, call: str) -> None:
        """Count a verdict, and keep the case when it is the gravest so far."""
        self.counts.setdefault(source, Counter())[judged.verdict] += 1
        before = self.worst
        if before is None or _graver(judged, before[0]):
            self.worst = (judged, source, call)

    def line(self) -> Line:
        """The counts by source, and the gravest case."""
        assert self.worst is not None  # noqa: S101  it is asked only after add
        judged, source, call = self.worst
        return {
            "counts": {name: dict(counts) for name, counts in self.counts.items()},
            "verdict": judged.verdict,
            "source": source,
            "call": call,
            "detail": judged.detail,
            "error_device": _finite(judged.error_device),
            "error_cpu": _finite(judged.error_cpu),
        }


def _finite(value: float) -> Optional[float]:
    return value if math.isfinite(value) else None


def _graver(one: Judged, other: Judged) -> bool:
    """`untestable` is named only where nothing else was compared; no elements are no comparison."""
    order = ("", "untestable", "strict", "drift", "timeout", "crash", "error", "WRONG")
    places = ["" if each.detail == EMPTY else each.verdict for each in (one, other)]
    return order.index(places[0]) > order.index(places[1])


def line_of(operator: str, dtype: str, direction: str, tally: Tally) -> Line:
    """The line of kind `check` that a tally makes."""
    at = {"operator": operator, "dtype": dtype, "direction": direction}
    return {"kind": "check", **at, **tally.line()}
