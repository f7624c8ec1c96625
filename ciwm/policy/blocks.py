"""Launches as blocks: and what makes one complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.stats.gate import BLOCK, block_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ciwm.records import Launch, Plan, Side

APART = ("apart", "trusted")  # orders of a plan whose sides were not measured together
STOPPED = ("interrupted", "lost")  # by us: says nothing about the workload


def blocks(launches: Iterable[Launch]) -> list[tuple[Launch, ...]]:
    """The launches grouped by workload, block and attempt, in the order they were begun."""
    groups: dict[tuple[str, int, int], list[Launch]] = {}
    for launch in launches:
        groups.setdefault((launch.workload, launch.block, launch.attempt), []).append(launch)
    return [tuple(sorted(group, key=lambda launch: launch.position)) for group in groups.values()]


def failed(launch: Launch) -> bool:
    """Whether the workload itself did not run to its end."""
    return launch.exit != "ok" and launch.exit not in STOPPED


def complete(block: Sequence[Launch]) -> bool:
    """Whether a block is two launches a side, each ended by itself."""
    return len(block) == 2 * BLOCK and all(
        len(ran(block, side)) == BLOCK for side in ("base", "head")
    )


def ran(block: Sequence[Launch], side: Side) -> tuple[Launch, ...]:
    """The launches of one side that ended by themselves."""
    return tuple(launch for launch in block if launch.side == side and launch.exit == "ok")


def in_order(block: Sequence[Launch], plan: Plan) -> bool:
    """Whether the sides came in the order that the plan's seed gives."""
    first = block[0]
    planned = block_order(*plan.drawn_for(first.workload), first.block, first.attempt)
    return tuple(launch.side for launch in block) == planned
