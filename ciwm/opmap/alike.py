"""What two maps must have in common: of two targets, classes and kernels to write are void."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.records import WorkloadMap


def same_target(base: WorkloadMap, head: WorkloadMap) -> bool:
    """Whether classes, and the kernels to write, are of one target on both sides."""
    return base.provenance.target == head.provenance.target


def void_reason(base: WorkloadMap, head: WorkloadMap) -> str:
    """Why a part of both cannot be compared, in a sentence; empty where all can."""
    if same_target(base, head):
        return ""
    one, other = (side.provenance.target or "no target" for side in (base, head))
    return (
        f"base was mapped for {one}, head for {other}: classes and kernels to write differ by "
        "that, and are not compared"
    )
