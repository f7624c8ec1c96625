"""The gate's rule a second time, over many series at once, with numpy and scipy.

Written from the rule's description and not from `ciwm.stats.gate`: labelings are a matrix of
signs, the trimmed mean comes from sorted rows, Student's t from scipy. The two must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PASS, REGRESS, IMPROVE, INCONCLUSIVE = range(4)
NAMES = ("pass", "regress", "improve", "inconclusive")
SIGNS = np.array(sorted(set(permutations((-1, -1, 1, 1)))), dtype=float)  # 1: labelled head


@dataclass(frozen=True)
class Rule:
    """The gate's numbers, by gate's names."""

    tests: int = 40
    threshold: float = 0.03
    alpha: float = 0.01
    min_launches: int = 4
    max_launches: int = 16
    noise: float = 0.01
    freedom: int = 4


@dataclass(frozen=True)
class Judged:
    """Per series: the verdict's number, launches a side at the stop, evidence after each block."""

    verdict: NDArray[np.int64]
    launches: NDArray[np.int64]
    evidence: Floats


def judge(base: Floats, head: Floats, rule: Rule = Rule()) -> Judged:
    """Judge rows of launch logs, each row a series, two columns a block."""
    series, need = len(base), np.log(rule.tests / rule.alpha)
    limit = np.log1p(rule.threshold)
    slower, faster = _evidence(base, head, rule)
    verdict, launches = np.full(series, -1), np.zeros(series, dtype=int)
    for count in range(rule.min_launches, rule.max_launches + 1, 2):
        block = count // 2 - 1
        change = np.median(head[:, :count], axis=1) - np.median(base[:, :count], axis=1)
        now = np.full(series, -1)
        if count + 2 > rule.max_launches:
            now[:] = INCONCLUSIVE
        noisy = _launch_sd(base[:, :count], head[:, :count]) > limit
        now[_upper_limit(head[:, :count] - base[:, :count], noisy) < limit] = PASS
        now[(faster[:, block] >= need) & (change <= -limit)] = IMPROVE
        now[(slower[:, block] >= need) & (change >= limit)] = REGRESS
        stops = (verdict < 0) & (now >= 0)
        verdict[stops], launches[stops] = now[stops], count
    return Judged(verdict, launches, slower)


def _evidence(base: Floats, head: Floats, rule: Rule) -> tuple[Floats, Floats]:
    """Log evidence for slower and for faster after each block."""
    blocks = rule.max_launches // 2
    pairs_base = base[:, : 2 * blocks].reshape(-1, blocks, 2)
    pairs_head = head[:, : 2 * blocks].reshape(-1, blocks, 2)
    variance = _variance_before(pairs_base, pairs_head, rule)
    bet = np.maximum(np.log1p(rule.threshold), 2 * np.sqrt(variance)) / variance
    values = np.concatenate([pairs_base, pairs_head], axis=2)
    changes = values @ SIGNS.T / 2  # mean(head) - mean(base) under each labeling
    actual = pairs_head.mean(axis=2) - pairs_base.mean(axis=2)
    return tuple(np.cumsum(_log_payout(sign * bet, actual, changes), axis=1) for sign in (1, -1))  # type: ignore[return-value]  # two signs, two arrays


def _log_payout(bet: Floats, actual: Floats, changes: Floats) -> Floats:
    stakes = bet[:, :, None] * changes
    most = stakes.max(axis=2, keepdims=True)
    mean = np.exp(stakes - most).mean(axis=2)
    share = np.exp(bet * actual - most[:, :, 0]) / mean
    return np.asarray(np.log(0.9 * share + 0.1))


def _variance_before(base: Floats, head: Floats, rule: Rule) -> Floats:
    """The launch variance known before each block: the prior, and clipped residuals since."""
    out = np.empty(base.shape[:2])
    squares, freedom = np.full(len(base), rule.freedom * rule.noise**2), rule.freedom
    for block in range(base.shape[1]):
        out[:, block] = squares / freedom
        clip = 2 * np.sqrt(out[:, block])
        for arm in (base, head):
            half = np.abs(arm[:, block, 0] - arm[:, block, 1]) / 2
            squares = squares + 2 * np.minimum(half, clip) ** 2
        freedom += 2
    return out


def _launch_sd(base: Floats, head: Floats, size: int = 2) -> Floats:
    """The sd of launches around the mean of their side in their block of `size` a side."""
    blocks = np.concatenate([arm.reshape(len(arm), -1, size) for arm in (base, head)], axis=1)
    return np.asarray(np.sqrt(blocks.var(axis=2, ddof=1).mean(axis=1)))


def _upper_limit(differences: Floats, noisy: NDArray[np.bool_]) -> Floats:
    rows = np.sort(differences, axis=1)
    count = rows.shape[1]
    cut = count // 5
    inner = rows[:, cut : count - cut]
    kept = inner.shape[1]
    winsorised = np.pad(inner, ((0, 0), (cut, cut)), mode="edge")
    error = winsorised.std(axis=1, ddof=1) * np.sqrt((count - 1) / kept / (kept - 1))
    quantile = np.where(noisy, _quantile(0.99, kept - 1), _quantile(0.95, kept - 1))
    return np.asarray(inner.mean(axis=1) + quantile * error)


@cache
def _quantile(probability: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))
