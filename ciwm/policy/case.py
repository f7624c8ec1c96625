"""What is known of one series when the table of outcomes is applied to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.gate_config import matches
from ciwm.records import SIDES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.policy.tally import Tally
    from ciwm.policy.trial import Trial
    from ciwm.records import Run, Series, Side


@dataclass(frozen=True)
class Case:
    """A series' trial and its workload's launches, in the run they come from.

    `aggregate` says of what each launch gives one figure, where a tool kept no samples.
    """

    run: Run
    trial: Trial
    tally: Tally
    incomparable: str = ""  # why the two arms cannot be compared at all
    aggregate: str = ""

    @property
    def series(self) -> Series:
        """The series on trial."""
        return self.trial.series

    def builds(self, side: Side) -> bool:
        """Whether the side's build, where there is a record of one, can be launched."""
        build = self.run.arm(side, self.series.workload).build
        return build is None or build.ok

    def runs(self, side: Side) -> bool:
        """Whether the side builds, and its launches do not fail."""
        return self.builds(side) and not self.tally.fails(side)

    def has(self, side: Side) -> bool:
        """Whether a launch of the side measured this series."""
        return bool(self.trial.seen[side])

    def lacks(self, side: Side) -> bool:
        """Whether the side ran, or had its turn in a finished run, and this series never came."""
        if self.has(side):
            return False
        if self.tally.void_blocks and not self.tally.begun[side]:
            return False  # blocks were given up before a launch of it: the order is drawn
        return self.tally.ran[side] > 0 or (self.run.complete and not self.tally.failures[side])

    @property
    def awaits_its_turn(self) -> bool:
        """Whether its run was stopped, or out of budget, before both sides had run to an end."""
        shard = self.run.plan.shard_of(self.series.workload)
        unended = not (self.run.complete if shard is None else shard.complete or shard.missing)
        return unended and not all(self.tally.ran[side] for side in SIDES)


def declared_removed(series: Series, patterns: Sequence[str]) -> bool:
    """Whether `[gate] removed` names the series or its workload, literally or as a glob."""
    names = (series.series, series.workload, f"{series.series} {series.metric}")
    return any(matches(name, pattern) for name in names for pattern in patterns)
