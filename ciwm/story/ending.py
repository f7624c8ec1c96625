"""How a story ends: the exit code, and what the check says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import BUG, ENVIRONMENT, INTERRUPTED, NO, OK, VOID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.config import GateConfig
    from ciwm.records import BuildRecord, Stage, Verdict
    from ciwm.records.bump import CheckConclusion
    from ciwm.records.opmap_diff import MapDiff


def exit_code_of(
    stages: Sequence[Stage],
    builds: Sequence[BuildRecord],
    verdict: Verdict | None,
    gate: GateConfig,
    map_diff: MapDiff | None = None,
    *,
    over_budget: bool,
    interrupted: bool,
) -> int:
    """Interrupted before wrong before broken before in doubt; `builds` are base's and head's."""
    from ciwm.policy import exit_code  # noqa: PLC0415  each stage loads what it needs

    if interrupted:
        return INTERRUPTED
    decided = exit_code(verdict, gate) if verdict else OK
    lost = map_diff is not None and map_diff.blocks
    if decided == NO or over_budget or lost or _head_does_not_build(builds):
        return NO
    if any(stage.status == "failed" and stage.name != "store" for stage in stages):
        return ENVIRONMENT  # history that could not be kept is a warning, not an answer
    if map_diff is not None and map_diff.void and gate.on_void == "fail":
        return VOID
    return decided


def conclusion_of(
    verdict: Verdict | None,
    exit_code: int,
    map_diff: MapDiff | None = None,
    warnings: Sequence[str] = (),
) -> CheckConclusion:
    """What the check says; what could not be measured is never a success.

    A loss of the map that does not block is neutral, and so are a void map and what was warned of.
    """
    from ciwm.policy import conclusion  # noqa: PLC0415

    if exit_code in (NO, ENVIRONMENT, INTERRUPTED, BUG):
        return "failure"
    found = conclusion(verdict) if verdict else "success"
    doubts = map_diff is not None and (
        map_diff.void or any(change.lost for change in map_diff.changes)
    )
    return "neutral" if (doubts or warnings) and found == "success" else found


def _head_does_not_build(builds: Sequence[BuildRecord]) -> bool:
    return len(builds) == 2 and not builds[1].ok  # noqa: PLR2004  base and head
