"""One series on trial: its launches' values, and the gate that judges them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import copysign, inf
from typing import TYPE_CHECKING, Literal

from ciwm.errors import UsageError
from ciwm.policy.blocks import side_of
from ciwm.records import SIDES
from ciwm.stats.gate import Gate, GateVerdict
from ciwm.stats.launches import quantile, read_from_a_clock, worse_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.config import GateConfig
    from ciwm.records import Launch, Plan, Series, Side

MEDIAN = 0.5


@dataclass
class Trial:
    """What is known of one series; `verdict` is the gate's, or an exact comparison's."""

    series: Series
    gate: Gate
    values: dict[Side, list[float]] = field(default_factory=lambda: {"base": [], "head": []})
    present: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    absent: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})

    def add(self, block: Sequence[Launch]) -> None:
        """Judge with a complete block; one in which a launch lacks this series does not count."""
        found = {
            side: [launch_value(launch, self.series) for launch in side_of(block, side)]
            for side in SIDES
        }
        for side in SIDES:
            self.absent[side] += found[side].count(None)
            self.present[side] += len(found[side]) - found[side].count(None)
        if any(None in values for values in found.values()):
            return
        usable = {side: [value for value in found[side] if value is not None] for side in SIDES}
        for side in SIDES:
            self.values[side] += usable[side]
        if self.has_logs:
            base, head = (self._logs(usable[side]) for side in SIDES)
            self.gate.add(base, head)

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
        constant = all(len(set(self.values[side])) == 1 for side in SIDES)
        return self.gate.exact and constant

    @property
    def verdict(self) -> GateVerdict | Literal["no ratio"] | None:
        """The verdict so far; "no ratio" where values at or below zero leave nothing to judge."""
        if self.has_logs:
            return self.gate.verdict
        if not self.compared_exactly:
            return "no ratio"
        return _exact_verdict(self) if self.launches >= self.gate.min_launches else None

    @property
    def one_sided(self) -> bool:
        """Whether launches that ran show that one side does not have this series."""
        return any(self.absent[side] and not self.present[side] for side in SIDES)

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


def launch_value(launch: Launch, series: Series) -> float | None:
    """The launch's P50; None where it has no sample of the series, or reports it twice."""
    found = [s.values for s in launch.samples if (s.series, s.metric) == series.key]
    return quantile(found[0], MEDIAN) if len(found) == 1 and found[0] else None


def _exact_verdict(trial: Trial) -> GateVerdict:
    """Two constants, at or below zero: the change as a share of base, infinite from zero."""
    base, head = trial.values["base"][0], trial.values["head"][0]
    change = head - base if trial.series.better == "lower" else base - head
    share = change / abs(base) if base else copysign(inf, change) if change else 0.0
    if share >= trial.series.threshold_pct / 100:
        return "regress"
    return "improve" if share <= -trial.series.threshold_pct / 100 else "pass"
