"""Watching a run as it goes: which workloads need more launches, and which are decided."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.policy.blocks import complete, in_order, ran
from ciwm.policy.tally import Tally
from ciwm.policy.trials import measured, new_trial
from ciwm.records import SIDES
from ciwm.stats.gate import BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.config import GateConfig
    from ciwm.policy.trial import Trial
    from ciwm.records import Launch, Plan


class Watch:
    """The gate over all series of a plan; bench asks it when to stop, `decide` what came out."""

    def __init__(self, plan: Plan, config: GateConfig) -> None:
        """Raises UsageError for a plan this gate cannot judge."""
        if plan.launches_per_side_in_block != BLOCK:
            raise UsageError(
                f"the plan has blocks of {plan.launches_per_side_in_block} launches a side; "
                f"this gate judges blocks of {BLOCK}"
            )
        counts = Counter(series.key for series in plan.family)
        twice = sorted(" ".join(key) for key, count in counts.items() if count > 1)
        if twice:
            raise UsageError(f"planned twice: {', '.join(twice)}")
        names = dict.fromkeys((*plan.workloads, *(series.workload for series in plan.family)))
        self._plan = plan
        self._rules = config.void
        self.trials = [new_trial(series, plan, config) for series in plan.family]
        self.tallies = {name: Tally(config.void) for name in names}
        self._of: dict[str, list[Trial]] = {}
        for trial in self.trials:
            self._of.setdefault(trial.series.workload, []).append(trial)
        self._counted: set[tuple[str, int]] = set()

    def add(self, launches: Sequence[Launch]) -> bool:
        """Take one block of one workload; whether it counts (if not, draw another attempt).

        A block counts when it is complete, every launch ended by itself, no condition made one
        void, and no earlier attempt of it counted. A void launch discards its whole block:
        replacing one launch after seeing its conditions would break the random order.
        """
        workload, block = _only_block(launches)
        tally = self.tallies.setdefault(workload, Tally(self._rules))
        clean = tally.count(launches)
        values = {side: [measured(each) for each in ran(launches, side)] for side in SIDES}
        for trial in self.of(workload):
            for side in SIDES:
                for launch in values[side]:
                    trial.see(side, launch)
        if not clean or not complete(launches) or (workload, block) in self._counted:
            return False
        self._counted.add((workload, block))
        tally.keep(launches)
        if self._plan.order == "seeded":
            tally.disordered_blocks += not in_order(launches, self._plan)
        for trial in self.of(workload):
            trial.add(values)
        return True

    def decided(self, workload: str) -> bool:
        """Whether more launches of a workload would be of no use, or are beyond the budget."""
        tally = self.tallies.get(workload, Tally())
        if tally.fails("base") or tally.fails("head") or tally.broken:
            return True
        if (tally.kept_blocks + 1) * BLOCK > self._plan.max_launches:
            return True
        if self._plan.purpose == "calibrate" or tally.skipped_blocks:
            return False
        return all(trial.settled or trial.one_sided for trial in self.of(workload))

    def of(self, workload: str) -> list[Trial]:
        """The trials of a workload's series."""
        return self._of.get(workload, [])


def _only_block(launches: Sequence[Launch]) -> tuple[str, int]:
    names = {(launch.workload, launch.block, launch.attempt) for launch in launches}
    if len(names) != 1:
        raise ValueError(f"one block of one workload at a time, not {sorted(names)}")
    workload, block, _ = names.pop()
    return workload, block
