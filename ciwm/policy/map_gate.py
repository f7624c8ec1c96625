"""Which changes of a map block: losses of a kind that the gate blocks on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.gate_config import BlockOn
    from ciwm.records.opmap_diff import MapChange, MapDiff


def judged_map(diff: MapDiff, block_on: Iterable[BlockOn]) -> MapDiff:
    """The diff with its answer, whatever it said before; what blocks comes first, then losses."""
    blocking = set(block_on)
    changes = [
        change.model_copy(update={"blocks": change.lost and change.counts_as in blocking})
        for change in diff.changes
    ]
    changes.sort(key=lambda change: (not change.blocks, not change.lost))
    blocks = [change for change in changes if change.blocks]
    answer = {"changes": tuple(changes), "blocks": bool(blocks), "reason": _reason(blocks)}
    return diff.model_copy(update=answer)


def _reason(blocks: list[MapChange]) -> str:
    if not blocks:
        return ""
    more = f" (and {len(blocks) - 1} more)" if len(blocks) > 1 else ""
    return blocks[0].sentence + more
