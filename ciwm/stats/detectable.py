"""What a gate could detect, given launches of unchanged code: the smallest slowdown it proves.

Blocks that were really measured are drawn again and again, a slowdown is put on the launches that
the lot makes head's, and the product's own gate judges them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from math import log1p, sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from ciwm.stats.gate import BLOCK, KNOWN_FREEDOM, LEAST_NOISE, Gate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TRIALS = 200
POWER = 0.9
LARGEST = 1.0  # a doubling; what is not detected by then is "nothing"
_STEPS = 6  # halvings of the interval between two sizes: within 1 % of the size
_GROWTH = 2.0


@dataclass(frozen=True)
class Bench:
    """A gate's rule, and blocks of unchanged launches on its scale to try it on.

    `residuals` are the four launches of each block around their mean.
    """

    tests: int
    alpha: float
    max_launches: int
    noise: float
    absolute: bool
    residuals: tuple[tuple[float, ...], ...]
    seed: int = 0

    def quieter(self, factor: float) -> Bench:
        """The same with launches that vary less by a factor."""
        return replace(
            self,
            noise=self.noise * factor,
            residuals=tuple(tuple(x * factor for x in block) for block in self.residuals),
        )

    def longer(self, max_launches: int) -> Bench:
        """The same with another budget."""
        return replace(self, max_launches=max_launches)


def residuals(base: Sequence[float], head: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    """Blocks of launches around their means, widened by what the mean took from their spread."""
    blocks = [
        (*base[start : start + BLOCK], *head[start : start + BLOCK])
        for start in range(0, len(base), BLOCK)
    ]
    size = 2 * BLOCK
    wider = sqrt(size / (size - 1))
    return tuple(tuple(wider * (x - fmean(block)) for x in block) for block in blocks)


def detectable(bench: Bench) -> float | None:
    """The smallest threshold at which a slowdown of just that size is proved 9 times in 10.

    A ratio (0.03), or a difference where `absolute`; None when not even a doubling is.
    """
    return _smallest(bench, lambda size: _is_reached(bench, size, size, _proves))


def detects(bench: Bench, threshold: float) -> bool:
    """Whether a slowdown of the threshold is proved 9 times in 10."""
    return _is_reached(bench, threshold, threshold, _proves)


def blocked(bench: Bench, threshold: float) -> float | None:
    """The smallest slowdown that a gate with this threshold blocks 9 times in 10."""
    return _smallest(bench, lambda size: _is_reached(bench, threshold, size, _blocks))


def _proves(gate: Gate) -> bool | None:
    return gate.evidence >= gate.evidence_needed or None


def _blocks(gate: Gate) -> bool | None:
    return None if gate.verdict is None else gate.verdict == "regress"


def _smallest(bench: Bench, reaches: Callable[[float], bool]) -> float | None:
    spread = max(abs(x) for block in bench.residuals for x in block)
    largest = 1e3 * max(spread, bench.noise) if bench.absolute else LARGEST
    low, high = 0.0, bench.noise / 4
    while not reaches(high):
        low, high = high, high * _GROWTH
        if high > largest:
            return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _is_reached(
    bench: Bench, threshold: float, size: float, says: Callable[[Gate], bool | None]
) -> bool:
    """Whether enough trials come to the end that is asked for; every size gets the same lots."""
    lots, misses = random.Random(bench.seed), 0
    effect = size if bench.absolute else log1p(size)
    for _ in range(TRIALS):
        misses += not _trial(bench, threshold, effect, random.Random(lots.random()), says)
        if misses > (1 - POWER) * TRIALS:
            return False
    return True


def _trial(
    bench: Bench,
    threshold: float,
    effect: float,
    lots: random.Random,
    says: Callable[[Gate], bool | None],
) -> bool:
    gate = Gate(
        tests=bench.tests,
        threshold=threshold,
        alpha=bench.alpha,
        max_launches=bench.max_launches,
        noise=max(bench.noise, threshold / LEAST_NOISE),
        freedom=KNOWN_FREEDOM,
        absolute=bench.absolute,
    )
    said = None
    while said is None and len(gate.base) + BLOCK <= bench.max_launches:
        block = lots.sample(lots.choice(bench.residuals), 2 * BLOCK)
        gate.add(block[:BLOCK], [x + effect for x in block[BLOCK:]])
        said = says(gate)
    return bool(said)
