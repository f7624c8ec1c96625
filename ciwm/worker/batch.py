"""Many calls as one sample, where one call is too short for the clock; and inputs that rotate."""

from __future__ import annotations

import itertools
from typing import Any, Iterator, List, Optional

from .clock import Step

SHORTEST_S = 50e-6  # reading the clock costs some 50 ns: a thousandth of it
LARGEST = 10_000


def batch_size(step_s: Optional[float], before: int = 0) -> int:
    """How many calls make one sample: a power of ten.

    As many as in a launch before (0: there was none) unless that is off by more than one power:
    a step near a limit would be timed now alone and now as the mean of ten, which is another thing.
    """
    size = 1
    while step_s is not None and step_s * size < SHORTEST_S and size < LARGEST:
        size *= 10
    return before if size <= 10 * before and before <= 10 * size else size


def batches(steps: Iterator[Step], size: int) -> Iterator[Step]:
    """Steps that each make `size` calls, and return what the last call did."""
    if size == 1:
        return steps
    return (_chained(list(itertools.islice(steps, size))) for _ in itertools.count())


def _chained(calls: List[Step]) -> Step:
    """One after another; no result is held through the next call, which would cost it memory."""
    *before, last = calls

    def run() -> Any:
        for call in before:
            call()
        return last()

    return run
