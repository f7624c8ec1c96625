"""One series on trial: its launches' values, and the gate that judges them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import copysign, inf
from typing import TYPE_CHECKING, Literal

from ciwm.records import SIDES
from ciwm.stats.gate import BLOCK, Gate, GateVerdict, parted_evidence
from ciwm.stats.launches import quantile, slowest, worse_log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.records import Series, Side

    Iterations = Sequence[float]
    Measured = Mapping[tuple[str, str], Iterations]

MEDIAN = 0.5
LARGEST = 1e150  # of a value that is judged: its square is still a number, and so are ratios
SHOWN_TAIL, GATED_TAIL = 60, 200  # iterations in every launch, for a tail to be seen, to block


@dataclass
class Trial:
    """What is known of one series; `verdict` is the gate's, or an exact comparison's.

    A launch counts by the P50 of its iterations; on trial for its `slowest` ones, by those.
    """

    series: Series
    gate: Gate
    of_slowest: bool = False
    tail: Trial | None = None  # the same series, on trial for its slowest iterations
    tail_wanted: bool = False  # as a gate, not as a warning
    prove_improvement: bool = False
    seen: dict[Side, list[float]] = field(default_factory=lambda: {"base": [], "head": []})
    absent: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    values: dict[Side, list[float]] = field(default_factory=lambda: {"base": [], "head": []})
    single: bool = True  # no launch gave more than one value
    fewest: int | None = None  # iterations in a launch that counts
    tail_has_ratio: bool = True  # every iteration is a value that a ratio can be made of

    def see(self, side: Side, launch: Measured) -> None:
        """Note what a launch that ran says of this series, whether or not it will count."""
        found = launch.get(self.series.key)
        if found is None:
            self.absent[side] += 1
        else:
            self.seen[side].append(quantile(found, MEDIAN))
            self.single = self.single and len(found) == 1

    def add(self, block: Mapping[Side, Sequence[Measured]]) -> None:
        """Judge with a complete block; one in which a launch lacks this series does not count."""
        key = self.series.key
        if any(key not in launch for side in SIDES for launch in block[side]):
            return
        found = {side: [launch[key] for launch in block[side]] for side in SIDES}
        counts = [len(one) for side in SIDES for one in found[side]]
        self.fewest = min([*counts, *([] if self.fewest is None else [self.fewest])])
        self.tail_has_ratio = self.tail_has_ratio and all(
            _makes_ratio(value) for side in SIDES for one in found[side] for value in one
        )
        for side in SIDES:
            self.values[side] += [self._reduced(one) for one in found[side]]
        if self.comparable:
            scaled = {side: self._scaled(self.values[side][-BLOCK:]) for side in SIDES}
            self.gate.add(scaled["base"], scaled["head"])
        if self.tail is not None and self.tail_seen:
            self.tail.add(block)

    @property
    def launches(self) -> int:
        """Launches a side that count."""
        return len(self.values["base"])

    @property
    def on_differences(self) -> bool:
        """Whether the series is judged by differences in its unit, as an absolute threshold has it.

        Values at or below zero are as good as others then.
        """
        return self.series.threshold_abs is not None

    @property
    def has_ratio(self) -> bool:
        """Whether every value is above zero and no monster, so that a ratio means something."""
        return all(_makes_ratio(value) for side in SIDES for value in self.values[side])

    @property
    def comparable(self) -> bool:
        """Whether the gate can judge the values: by their ratio, or by their difference."""
        if self.on_differences:
            return all(abs(value) <= LARGEST for side in SIDES for value in self.values[side])
        return self.has_ratio

    @property
    def compared_exactly(self) -> bool:
        """Whether every launch of a side gave the same value, of a thing that no clock reads."""
        constant = all(len(set(self.values[side])) <= 1 for side in SIDES)
        return self.gate.exact and constant

    @property
    def verdict(self) -> GateVerdict | Literal["no ratio"] | None:
        """The verdict so far; "no ratio" where values leave nothing to judge."""
        if self.comparable:
            return self.gate.verdict
        if self.on_differences or not self.compared_exactly:
            return "no ratio"
        return _exact_verdict(self)

    @property
    def settled(self) -> bool:
        """Whether more launches would be of no use to this series."""
        if self.verdict is None or (self.tail_gates and self.tail_verdict is None):
            return False
        hopes = self.prove_improvement and self.verdict == "pass" and bool(self.gate.base)
        return not hopes or self.gate.improvement_excluded()

    @property
    def one_sided(self) -> bool:
        """Whether launches that ran show that one side does not have this series."""
        return any(self.absent[side] and not self.seen[side] for side in SIDES)

    @property
    def tail_seen(self) -> bool:
        """Whether every launch that counts has iterations enough to speak of a tail."""
        enough = (self.fewest or 0) >= SHOWN_TAIL
        return enough and self.has_ratio and self.tail_has_ratio

    @property
    def tail_gates(self) -> bool:
        """Whether the slowest iterations may block: asked for, and enough of them."""
        return self.tail_wanted and self.tail_seen and (self.fewest or 0) >= GATED_TAIL

    @property
    def tail_verdict(self) -> GateVerdict | None:
        """The gate's verdict on the slowest iterations, once there are any."""
        return self.tail.gate.verdict if self.tail is not None and self.tail_seen else None

    def _reduced(self, iterations: Iterations) -> float:
        if self.of_slowest:
            return slowest(iterations, self.series.better)
        return quantile(iterations, MEDIAN)

    def _scaled(self, values: Sequence[float]) -> list[float]:
        """Values turned so that more is worse: logs, or as they are where differences count."""
        if self.on_differences:
            sign = 1 if self.series.better == "lower" else -1
            return [sign * value for value in values]
        return [worse_log(value, self.series.better) for value in values]


def _makes_ratio(value: float) -> bool:
    return 1 / LARGEST <= value <= LARGEST


def _exact_verdict(trial: Trial) -> GateVerdict | None:
    """Two constants, at or below zero: the change as a share of base, infinite from zero."""
    base, head = trial.values["base"][0], trial.values["head"][0]
    change = head - base if trial.series.better == "lower" else base - head
    share = change / abs(base) if base else copysign(inf, change) if change else 0.0
    if trial.launches < trial.gate.min_launches:
        return None
    if abs(share) < trial.series.threshold_pct / 100:
        return "pass"
    if parted_evidence(trial.launches) >= trial.gate.evidence_needed:
        return "regress" if share > 0 else "improve"
    budget_left = trial.launches + BLOCK <= trial.gate.max_launches
    return None if budget_left else "inconclusive"
