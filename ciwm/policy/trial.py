"""One series on trial: its launches' values, and the gate that judges them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import copysign, inf
from typing import TYPE_CHECKING, Literal, NamedTuple

from ciwm.errors import UsageError
from ciwm.records import SIDES
from ciwm.stats.gate import BLOCK, Gate, GateVerdict, parted_evidence
from ciwm.stats.launches import quantile, read_from_a_clock, worse_log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.config import GateConfig
    from ciwm.records import Launch, Plan, Series, Side

    Measured = Mapping[tuple[str, str], "Iterations"]

MEDIAN = 0.5


class Iterations(NamedTuple):
    """What one launch says of a series: the P50 of its iterations, and how many they were."""

    middle: float
    iterations: int


@dataclass
class Trial:
    """What is known of one series; `verdict` is the gate's, or an exact comparison's."""

    series: Series
    gate: Gate
    seen: dict[Side, list[float]] = field(default_factory=lambda: {"base": [], "head": []})
    absent: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    values: dict[Side, list[float]] = field(default_factory=lambda: {"base": [], "head": []})
    single: bool = True  # no launch gave more than one value

    def see(self, side: Side, launch: Measured) -> None:
        """Note what a launch that ran says of this series, whether or not it will count."""
        found = launch.get(self.series.key)
        if found is None:
            self.absent[side] += 1
        else:
            self.seen[side].append(found.middle)
            self.single = self.single and found.iterations == 1

    def add(self, block: Mapping[Side, Sequence[Measured]]) -> None:
        """Judge with a complete block; one in which a launch lacks this series does not count."""
        key = self.series.key
        if any(key not in launch for side in SIDES for launch in block[side]):
            return
        found = {side: [launch[key].middle for launch in block[side]] for side in SIDES}
        for side in SIDES:
            self.values[side] += found[side]
        if self.has_logs:
            self.gate.add(self._logs(found["base"]), self._logs(found["head"]))

    @property
    def launches(self) -> int:
        """Launches a side that count."""
        return len(self.values["base"])

    @property
    def has_logs(self) -> bool:
        """Whether every value is above zero, so that a ratio means something."""
        return all(value > 0 for side in SIDES for value in self.values[side])

    @property
    def compared_exactly(self) -> bool:
        """Whether every launch of a side gave the same value, of a thing that no clock reads."""
        constant = all(len(set(self.values[side])) <= 1 for side in SIDES)
        return self.gate.exact and constant

    @property
    def verdict(self) -> GateVerdict | Literal["no ratio"] | None:
        """The verdict so far; "no ratio" where values at or below zero leave nothing to judge."""
        if self.has_logs:
            return self.gate.verdict
        if not self.compared_exactly:
            return "no ratio"
        return _exact_verdict(self)

    @property
    def one_sided(self) -> bool:
        """Whether launches that ran show that one side does not have this series."""
        return any(self.absent[side] and not self.seen[side] for side in SIDES)

    def _logs(self, values: Sequence[float]) -> list[float]:
        return [worse_log(value, self.series.better) for value in values]


def new_trial(series: Series, plan: Plan, config: GateConfig) -> Trial:
    """A trial by the plan's budget and family and the configuration's alpha."""
    try:
        gate = Gate(
            tests=family_size(plan),
            threshold=series.threshold_pct / 100,
            alpha=config.family_alpha,
            max_launches=plan.max_launches,
            exact=not read_from_a_clock(series.unit),
        )
    except ValueError as error:
        raise UsageError(f"the plan cannot be judged: {error}") from error
    return Trial(series, gate)


def family_size(plan: Plan) -> int:
    """The number of series gated in the run, of which a shard holds only some."""
    return max(plan.family_size, len(plan.family), 1)


def measured(launch: Launch) -> Measured:
    """What a launch says of each series; nothing of one that is empty or there twice."""
    keys = [(samples.series, samples.metric) for samples in launch.samples]
    counts = Counter(keys)
    return {
        key: Iterations(quantile(samples.values, MEDIAN), len(samples.values))
        for key, samples in zip(keys, launch.samples, strict=True)
        if samples.values and counts[key] == 1
    }


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
