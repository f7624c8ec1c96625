"""Which block comes next: round-robin over the workloads that still need evidence and still fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import count
from statistics import fmean
from typing import TYPE_CHECKING, cast

from ciwm.policy import Watch
from ciwm.policy.conditions import void_reasons
from ciwm.records import SIDES
from ciwm.stats.gate import block_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ciwm.config import GateConfig
    from ciwm.records import Launch, Plan, Side


@dataclass(frozen=True)
class Turn:
    """One block to run: an attempt at a block of a workload, and the order of its sides."""

    workload: str
    block: int
    attempt: int
    sides: tuple[Side, ...]


class Schedule:
    """Asks the gate after each block; remembers what blocks took and how often they were tried.

    Where only one side built there is nothing to compare: one block shows whether it runs.
    """

    def __init__(self, plan: Plan, gate: GateConfig, built: Sequence[Side] = SIDES) -> None:
        self._plan = plan
        self._gate = gate
        self._built = tuple(built)
        self._watch = Watch(plan, gate)
        self._kept: defaultdict[str, set[int]] = defaultdict(set)
        self._attempts: Counter[tuple[str, int]] = Counter()
        self._took_s: defaultdict[str, list[float]] = defaultdict(list)
        self._outcomes: set[tuple[str, Side]] = set()
        self._begun: defaultdict[str, list[int]] = defaultdict(list)  # blocks under way
        self._last = len(plan.workloads) - 1

    @property
    def undecided(self) -> tuple[str, ...]:
        """Workloads that need more launches and may have them."""
        return tuple(name for name in self._plan.workloads if self._wants(name, 0))

    def why_no_more(self, name: str) -> str:
        """Why a workload that is not undecided gets no more launches, in words for the log."""
        tally = self._watch.tallies[name]
        if not any(self.has_outcome(name, side) for side in SIDES):
            return "no more launches: none ran"
        if failing := [side for side in SIDES if tally.fails(side)]:
            return f"no more launches: {' and '.join(failing)} failed"
        return f"no more launches: void: {tally.broken}" if tally.broken else "enough launches"

    def is_built(self, side: Side) -> bool:
        """Whether a side has a build that can be launched."""
        return side in self._built

    def next_turn(self, left_s: float) -> Turn | None:
        """The next block that fits into the time left, judging by the workload's past ones."""
        names = self._plan.workloads
        for step in range(1, len(names) + 1):
            place = (self._last + step) % len(names)
            if self._open(names[place]) and self._fits(names[place], left_s):
                return self._turn(names[place])
        return None

    def begin(self, turn: Turn) -> None:
        """Note that a block is under way; until it is taken or given up, others come next."""
        self._last = self._plan.workloads.index(turn.workload)
        self._begun[turn.workload].append(turn.block)

    def give_up(self, turn: Turn) -> None:
        """Note that a block that was begun has no launch, and can be begun as it was."""
        self._begun[turn.workload].remove(turn.block)

    def take(self, block: Sequence[Launch], took_s: float | None = None) -> bool:
        """Take the launches of one attempt; whether they count as evidence.

        Blocks of a workload that run side by side are taken in the order they were begun, never
        in that they ended, which may depend on what they measured.
        """
        first = block[0]
        self._last = self._plan.workloads.index(first.workload)
        if first.block in self._begun[first.workload]:
            self._begun[first.workload].remove(first.block)
        attempts = self._attempts[first.workload, first.block]
        self._attempts[first.workload, first.block] = max(attempts, first.attempt + 1)
        self._outcomes |= {(one.workload, one.side) for one in block if _says_something(one)}
        counts = self._watch.add(block)
        if counts:
            self._kept[first.workload].add(first.block)
        if took_s is not None and counts:
            self._took_s[first.workload].append(took_s)
        return counts

    def restore(self, launches: Iterable[Launch]) -> None:
        """Take the blocks of an interrupted run, in the order they were begun."""
        groups: dict[tuple[str, int, int], list[Launch]] = {}
        for launch in launches:
            groups.setdefault((launch.workload, launch.block, launch.attempt), []).append(launch)
        for block in groups.values():
            self.take(block, sum(launch.duration_s for launch in block))

    def void_reasons(self, block: Sequence[Launch]) -> tuple[str, ...]:
        """For each launch what made it void, so that its whole block will not count."""
        return void_reasons(block, self._gate.void)

    def has_outcome(self, workload: str, side: Side) -> bool:
        """Whether some launch already showed whether a side runs."""
        return (workload, side) in self._outcomes

    def _open(self, name: str) -> bool:
        return self._wants(name, len(self._begun[name]))

    def _wants(self, name: str, under_way: int) -> bool:
        """Whether a workload needs more than the blocks under way, and may have them."""
        per_block = self._plan.launches_per_side_in_block
        if len(self._built) < len(SIDES):
            seen = any(self.has_outcome(name, side) for side in self._built)
            return not seen and not under_way
        room = (len(self._kept[name]) + under_way + 1) * per_block <= self._plan.max_launches
        return room and not self._watch.decided(name)

    def _fits(self, name: str, left_s: float) -> bool:
        past = self._took_s[name]
        return left_s > (fmean(past) if past else 0.0)

    def _turn(self, name: str) -> Turn:
        taken = self._kept[name].union(self._begun[name])
        block = next(number for number in count() if number not in taken)
        attempt = self._attempts[name, block]
        order = cast("tuple[Side, ...]", block_order(self._plan.seed, name, block, attempt))
        return Turn(name, block, attempt, order)


def _says_something(launch: Launch) -> bool:
    """Whether a launch shows if its side runs: one that we stopped does not."""
    return launch.exit not in ("interrupted", "lost")
