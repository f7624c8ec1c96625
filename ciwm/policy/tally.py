"""What became of a workload's launches: how many ran, failed, or were void, on each side."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING

from ciwm.policy.blocks import failed
from ciwm.policy.conditions import RULES, void_reasons
from ciwm.records import SIDES
from ciwm.records.run import LOADED_NOTHING
from ciwm.stats.gate import BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.gate_config import VoidConfig
    from ciwm.records import Launch, Side

FAILURES = 2  # of a side: once may be chance and is named, twice is the workload
VOID_BLOCKS = 3  # that many discarded, and more than were kept: the conditions are not there
IMBALANCE = 0.01  # two-sided binomial level at which void launches lean to one side


@dataclass
class Tally:
    """Launches of one workload, counted as blocks come in."""

    rules: VoidConfig = RULES
    begun: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    ran: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    void: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    failures: dict[Side, list[Launch]] = field(default_factory=lambda: {"base": [], "head": []})
    elsewhere: dict[Side, int] = field(default_factory=lambda: {"base": 0, "head": 0})
    void_reasons: list[str] = field(default_factory=list)
    kept_blocks: int = 0
    void_blocks: int = 0
    disordered_blocks: int = 0  # whose sides did not come in the order that the seed gives
    kept: set[int] = field(default_factory=set)  # numbers of blocks
    begun_blocks: set[int] = field(default_factory=set)
    torn: set[int] = field(default_factory=set)  # with launches missing or doubled, for no reason
    redrawn: set[tuple[int, int]] = field(default_factory=set)  # attempts that we interrupted
    took_s: dict[Side, list[float]] = field(default_factory=lambda: {"base": [], "head": []})

    def count(self, block: Sequence[Launch]) -> bool:
        """Count a block's launches; whether none of them was void."""
        reasons = []
        for launch, reason in zip(block, void_reasons(block, self.rules), strict=True):
            self.begun[launch.side] += 1
            self.ran[launch.side] += launch.exit == "ok"
            self.elsewhere[launch.side] += launch.exit == "ok" and launch.detail == LOADED_NOTHING
            if failed(launch):
                self.failures[launch.side].append(launch)
            elif launch.exit != "ok":
                self.redrawn.add((launch.block, launch.attempt))
            if reason:
                self.void[launch.side] += 1
                reasons.append(reason)
        number, whole = block[0].block, {launch.exit for launch in block} == {"ok"}
        self.begun_blocks.add(number)
        places = sorted(launch.position for launch in block)
        if whole and not reasons and places != list(range(min(len(places), 2 * BLOCK))):
            self.torn.add(number)
        self.void_reasons += reasons
        self.void_blocks += bool(reasons)
        return not reasons

    def fails(self, side: Side) -> bool:
        """Whether a side is held not to run: two failures, or one and never a success."""
        failures = len(self.failures[side])
        return failures >= FAILURES or (failures > 0 and self.ran[side] == 0)

    def keep(self, block: Sequence[Launch]) -> None:
        """Count a block as evidence."""
        self.kept_blocks += 1
        self.kept.add(block[0].block)
        for launch in block:
            self.took_s[launch.side].append(launch.duration_s)

    def foreign(self, side: Side) -> bool:
        """Whether no launch of a side, though the builds differ, loaded a file of its own."""
        return self.elsewhere[side] == self.ran[side] > 0

    @property
    def skipped_blocks(self) -> int:
        """Blocks that are torn, or missing before the last, which no bench leaves behind."""
        last = max(self.kept, default=0)  # a number that a stranger's file may make enormous
        accounted = self.kept | (self.begun_blocks - self.torn)
        later = sum(number >= last for number in self.torn - self.kept)
        return last - sum(0 <= number < last for number in accounted) + later

    @property
    def broken(self) -> str:
        """Why the conditions make this workload's comparison meaningless; empty if they do not."""
        foreign = [side for side in SIDES if self.foreign(side)]
        if foreign:
            who = "neither side" if len(foreign) > 1 else f"{foreign[0]} alone never"
            what = "both may have run the same" if len(foreign) > 1 else "it may have run other"
            return (
                f"{who} loaded anything from its own build, so {what} "
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
