"""What became of a workload's launches: how many ran, failed, or were void, on each side."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING

from ciwm.policy.blocks import failed, void_reason
from ciwm.policy.words import plain
from ciwm.records import SIDES
from ciwm.records.run import LOADED_NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import Launch, Side

FAILURES = 2  # of a side: once may be chance and is named, twice is the workload
VOID_BLOCKS = 3  # that many discarded, and more than were kept: the conditions are not there
IMBALANCE = 0.01  # two-sided binomial level at which void launches lean to one side


@dataclass
class Tally:
    """Launches of one workload, counted as blocks come in."""

    begun: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    ran: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    void: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    failures: dict[Side, list[Launch]] = field(default_factory=lambda: {"base": [], "head": []})
    elsewhere: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    void_reasons: list[str] = field(default_factory=list)
    kept_blocks: int = 0
    void_blocks: int = 0
    disordered_blocks: int = 0  # whose sides did not come in the order that the seed gives

    def count(self, block: Sequence[Launch]) -> bool:
        """Count a block's launches; whether none of them was void."""
        reasons = []
        for launch in block:
            self.begun[launch.side] += 1
            self.ran[launch.side] += launch.exit == "ok"
            self.elsewhere[launch.side] += launch.exit == "ok" and launch.detail == LOADED_NOTHING
            if failed(launch):
                self.failures[launch.side].append(launch)
            reason = void_reason(launch)
            if reason:
                self.void[launch.side] += 1
                reasons.append(reason)
        nodes = sorted({launch.node for launch in block if launch.node})
        if len(nodes) > 1:
            reasons.append(f"one block ran on several nodes ({', '.join(map(plain, nodes))})")
        self.void_reasons += reasons
        self.void_blocks += bool(reasons)
        return not reasons

    def fails(self, side: Side) -> bool:
        """Whether a side is held not to run: two failures, or one and never a success."""
        failures = len(self.failures[side])
        return failures >= FAILURES or (failures > 0 and self.ran[side] == 0)

    @property
    def same_code(self) -> bool:
        """Whether no launch of either side, though the builds differ, loaded a file of its own."""
        return all(self.elsewhere[side] == self.ran[side] > 0 for side in SIDES)

    @property
    def broken(self) -> str:
        """Why the conditions make this workload's comparison meaningless; empty if they do not."""
        if self.same_code:
            return (
                "neither side loaded anything from its own build, so both may have run the same "
                "installed code: set [build] venv = true, or python_path to where the framework "
                "is (imports_build = false where the workload only starts the build's programs)"
            )
        if self.void_blocks >= VOID_BLOCKS and self.void_blocks > self.kept_blocks:
            return f"{self.void_blocks} blocks were discarded and {self.kept_blocks} kept: " + (
                _commonest(self.void_reasons)
            )
        if self.disordered_blocks:
            return (
                f"{self.disordered_blocks} of {self.kept_blocks} blocks were not launched in the "
                "order that the plan's seed gives, on which the bound on false alarms rests"
            )
        base, head = self.void["base"], self.void["head"]
        if _lopsided(base, head):
            return (
                f"void launches lean to one side ({base} of base, {head} of head): "
                + _commonest(self.void_reasons)
            )
        return ""


def _commonest(reasons: Sequence[str]) -> str:
    return max(sorted(set(reasons)), key=reasons.count)


def _lopsided(base: int, head: int) -> bool:
    """Whether a fair coin would split so unevenly with a probability below IMBALANCE."""
    total, fewer = base + head, min(base, head)
    tail: int = sum(comb(total, count) for count in range(fewer + 1))
    return base != head and 2 * tail / 2**total < IMBALANCE
