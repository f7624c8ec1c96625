"""The decision rule for one series: blocks of 2 base + 2 head launches, judged as they come.

The order inside a block is drawn at random by `block_order`, so that, where head is not slower,
each of the six ways to label a block's four launches was equally likely whatever the noise looks
like. A bet on "head is slower" against those six has expectation one at most; the product over
blocks therefore reaches 1/a with probability a at most, however often one looks (Ville).
Everything here is on the log scale of one number a launch, so that units cancel; or, where a
ratio means nothing, on the metric's own scale.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil, exp, inf, isfinite, log, log1p, sqrt
from statistics import fmean, median
from typing import TYPE_CHECKING, Literal

from ciwm.stats.trimmed import trimmed_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

GateVerdict = Literal["regress", "improve", "pass", "inconclusive"]

BLOCK = 2  # launches a side in a block; 3 + 3 decides sooner when quiet, but has less power
HEADS = tuple(combinations(range(2 * BLOCK), BLOCK))
ORDERS = tuple(
    tuple("head" if slot in heads else "base" for slot in range(2 * BLOCK)) for heads in HEADS
)
MIX = 0.1  # the share of the stake kept out of each bet: one outlier costs a factor 10 at most
BEST_BLOCK = log((1 - MIX) * len(HEADS) + MIX)  # log evidence of a perfectly separated block
PRIOR_FREEDOM = 4  # how many degrees of freedom the first guess of the noise is worth
KNOWN_FREEDOM = 16  # and one that this machine was calibrated to
LEAST_BET = 2  # launch sds: a smaller change is hardly proved within a budget, so none is bet on
CLIP = 2  # residuals beyond so many sds count as that many: an outlier must not blind the rest
PASS_LEVEL = 0.95
NOISY_PASS_LEVEL = 0.99  # where launches scatter by more than the threshold: few agree by luck
LEAST_NOISE = 30  # the threshold over the least first guess: far below, it was seen too seldom
LUCK = 0.25  # standard errors by which a forecast lets the change move to the easier side
FORESEEN = 8  # budgets, beyond which a forecast is not worth its name
_ROUNDING = 1e-12  # relative: 1000 -> 1030 is 3 %, in floating point too


def block_order(seed: int, workload: str, block: int, attempt: int) -> tuple[str, ...]:
    """The sides of a block's four launches, in order: one of six, fixed by the four arguments."""
    text = f"{seed}\0{workload}\0{block}\0{attempt}".encode()
    draw = int.from_bytes(hashlib.sha256(text).digest(), "big")
    return ORDERS[draw % len(ORDERS)]


@dataclass
class Gate:
    """One series under test; feed it blocks with `add`, read `verdict` after each.

    `tests` is the number of series the run gates, `threshold` a ratio (0.03), or a difference where
    `absolute`, `alpha` the run's chance of any false alarm, `noise` a first guess of the launch sd
    on the scale of what is added, `freedom` what it is worth. `exact` series are
    counts that no clock reads: where all launches of a side agree, the two values are compared as
    they are. If launches differed by chance all the same, they would part so cleanly with a
    probability of 4^-n at most (n independent launches a side), which is the evidence then.
    """

    tests: int
    threshold: float = 0.03
    alpha: float = 0.01
    min_launches: int = 4
    max_launches: int = 16
    noise: float = 0.01
    freedom: int = PRIOR_FREEDOM
    exact: bool = False
    absolute: bool = False
    base: list[float] = field(default_factory=list, init=False)
    head: list[float] = field(default_factory=list, init=False)
    _slower: float = field(default=0.0, init=False)
    _faster: float = field(default=0.0, init=False)
    verdict: GateVerdict | None = field(default=None, init=False)
    _squares: float = field(default=0.0, init=False)  # clipped residuals, for the next bet
    _freedom: int = field(default=0, init=False)
    _residuals: float = field(default=0.0, init=False)  # unclipped, for the report

    def __post_init__(self) -> None:
        variance = self.noise * self.noise  # none of a noise of 1e-200
        positive = (self.tests, self.threshold, self.alpha, self.noise, variance, self.freedom)
        if not all(isfinite(value) and value > 0 for value in positive) or self.alpha >= 1:
            raise ValueError(
                "tests, threshold, alpha, noise, its square and freedom are positive, not "
                f"{positive}"
            )
        if not BLOCK <= self.min_launches <= self.max_launches:
            raise ValueError(f"{self.min_launches} to {self.max_launches} launches is no budget")
        self._squares, self._freedom = self.freedom * self.noise**2, self.freedom

    @property
    def limit(self) -> float:
        """The threshold on the scale of what is added: a log ratio, or a difference."""
        return self.threshold if self.absolute else log1p(self.threshold)

    @property
    def evidence_needed(self) -> float:
        """The log evidence that keeps the run's false alarms below alpha over all its tests."""
        return log(self.tests / self.alpha)

    @property
    def evidence(self) -> float:
        """Log evidence that head is slower."""
        return self._parted(self.estimate) if self.constant else self._slower

    @property
    def evidence_faster(self) -> float:
        """Log evidence that head is faster."""
        return self._parted(-self.estimate) if self.constant else self._faster

    @property
    def launches_to_block(self) -> int:
        """The fewest launches a side with which a regression can be proved."""
        blocks = ceil(self.evidence_needed / BEST_BLOCK - _ROUNDING)
        return max(BLOCK * blocks, self.min_launches)

    @property
    def estimate(self) -> float:
        """Log of head/base (a difference where `absolute`): of the medians of launches."""
        return median(self.head) - median(self.base)

    @property
    def launch_sd(self) -> float:
        """The sd of launches of one side around their block's mean, as a log."""
        return sqrt(self._residuals / len(self.base))

    @property
    def noise_learnt(self) -> float:
        """The launch sd as the next bet takes it: outliers clipped, the first guess weighed in."""
        return sqrt(self._squares / self._freedom)

    @property
    def constant(self) -> bool:
        """Whether this is a count, and every launch of a side gave the same."""
        return self.exact and len(set(self.base)) == 1 and len(set(self.head)) == 1

    def add(self, base: Sequence[float], head: Sequence[float]) -> GateVerdict | None:
        """Judge with one more block of launches; None while more launches are needed.

        A later block can still overturn a verdict: it says what all launches so far say. (That
        evidence was once enough would bound false alarms as well, but a proof that later launches
        take back is one that nobody believes.)
        """
        if len(base) != BLOCK or len(head) != BLOCK:
            raise ValueError(f"a block is {BLOCK}+{BLOCK} launches, not {len(base)}+{len(head)}")
        if not all(isfinite(value) for value in (*base, *head)):
            raise ValueError(f"launches are finite, not {[*base, *head]}")
        variance = self._squares / self._freedom
        tilt = max(self.limit, LEAST_BET * sqrt(variance)) / variance
        changes = _changes(base, head)
        self._slower += _log_payout(tilt, changes)
        self._faster += _log_payout(-tilt, changes)
        self.base += base
        self.head += head
        self._learn_noise((base, head), CLIP * sqrt(variance))
        self.verdict = self._judge()
        return self.verdict

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Two-sided confidence interval of the log ratio, widened to hold the estimate."""
        mean, error, quantile = trimmed_mean(self._pairs(), (1 + level) / 2)
        estimate = self.estimate
        return (
            min(mean - quantile * error, estimate),
            max(mean + quantile * error, estimate),
        )

    @property
    def pass_level(self) -> float:
        """The confidence with which a pass excludes the threshold, at the noise seen so far."""
        return NOISY_PASS_LEVEL if self.launch_sd > self.limit else PASS_LEVEL

    def worst(self) -> float:
        """The log ratio that head stays below, one-sided, with the confidence of `pass_level`."""
        mean, error, quantile = trimmed_mean(self._pairs(), self.pass_level)
        return mean + quantile * error

    def improvement_excluded(self) -> bool:
        """Whether an improvement of the threshold is excluded: the mirror of the pass rule."""
        mean, error, quantile = trimmed_mean(self._pairs(), self.pass_level)
        return mean - quantile * error > -self.limit

    def launches_needed(self) -> int | None:
        """Launches a side that would probably decide if they go on as they did; None: can't tell.

        Evidence grows in proportion to launches, and the width of the interval falls with their
        square root. A change close to the threshold may end on either side of it, so both ways
        are reckoned with a little luck (docs/measured/gate.md says how often that holds).
        """
        count = len(self.base)
        mean, error, quantile = trimmed_mean(self._pairs(), self.pass_level)
        luck = LUCK * error
        room = self.limit - mean + luck
        growths = [(quantile * error / room) ** 2] if room > 0 else []
        if self.evidence > 0 and self.estimate >= self.limit - luck:
            growths.append(self.evidence_needed / self.evidence)
        needed = max(min(growths, default=inf) * count, count + 1)
        return BLOCK * ceil(needed / BLOCK) if needed <= FORESEEN * self.max_launches else None

    def _pairs(self) -> list[float]:
        return [head - base for base, head in zip(self.base, self.head, strict=True)]

    def _learn_noise(self, arms: Sequence[Sequence[float]], cap: float) -> None:
        for arm in arms:
            center = fmean(arm)
            self._squares += sum(min(abs(value - center), cap) ** 2 for value in arm)
            self._residuals += sum((value - center) ** 2 for value in arm)
        self._freedom += len(arms) * (BLOCK - 1)

    def _judge(self) -> GateVerdict | None:
        launches = len(self.base)
        if launches < self.min_launches:
            return None
        slower, faster = self._proved()
        if slower or faster:
            return "regress" if slower else "improve"
        if self._excluded():
            return "pass"
        return "inconclusive" if launches + BLOCK > self.max_launches else None

    def _proved(self) -> tuple[bool, bool]:
        """Whether head is shown to be slower, and faster, by the threshold."""
        estimate, need = self.estimate, self.evidence_needed
        size = max(map(abs, (self.base[-1], self.head[-1]))) if self.absolute else 1.0
        limit = self.limit - _ROUNDING * size
        return self.evidence >= need and estimate >= limit, (
            self.evidence_faster >= need and estimate <= -limit
        )

    def _parted(self, change: float) -> float:
        return parted_evidence(len(self.base)) if change > 0 else 0.0

    def _excluded(self) -> bool:
        """Whether a slowdown of the threshold is excluded."""
        return self.worst() < self.limit


def parted_evidence(launches: int) -> float:
    """Log evidence of so many equal launches a side, where the two sides differ."""
    return launches * log(4)


def _changes(base: Sequence[float], head: Sequence[float]) -> list[float]:
    """Mean head minus mean base under each of the six labelings; the last is how it was."""
    values = (*base, *head)
    half = sum(values) / 2
    return [values[one] + values[other] - half for one, other in HEADS]


def _log_payout(tilt: float, changes: Sequence[float]) -> float:
    """Log of what the bet pays: the actual labeling's weight against the mean over all six."""
    scores = [tilt * change for change in changes]
    top = max(scores)
    bet = scores[-1] - top - log(fmean([exp(score - top) for score in scores]))
    return log((1 - MIX) * exp(bet) + MIX)
