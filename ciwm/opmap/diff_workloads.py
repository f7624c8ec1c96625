"""Workloads that came, went, or are bound otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.opmap.alike import same_target
from ciwm.opmap.taxonomy import NO_DEVICE
from ciwm.records.opmap_diff import MapChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.records import WorkloadMap
    from ciwm.records.opmap import MappedWorkload, MapProblem
    from ciwm.records.opmap_communication import CommunicationPattern
    from ciwm.records.opmap_diff import ChangeKind

EVERY = ""  # what a problem says that is of no one workload


def workload_changes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """Workloads lost, new, observed again; and those whose bound or place in memory changed."""
    ours, theirs = ({one.id: one for one in side.workloads} for side in (base, head))
    for name in sorted(ours.keys() - theirs.keys()):
        yield _lost(name, "is not in head's map")
    for name in sorted(theirs.keys() - ours.keys()):
        yield MapChange(
            kind="workload new", subject=name, workloads=(name,), sentence=f"{name} is new"
        )
    before, after = _problems(base), _problems(head)
    both = sorted(ours.keys() & theirs.keys())
    stages = _run(base) & _run(head)
    if not same_target(base, head):
        stages.discard("ghost")  # the one target's own run, or none
    for name in (EVERY, *both):
        for stage in sorted(stages):
            yield from _observed(name, before.get((stage, name)), after.get((stage, name)))
    for name in both:
        yield from _kind_of_work(ours[name], theirs[name])


def _run(side: WorkloadMap) -> set[str]:
    """The stages that were run: a queue is made from a census, asked for or not."""
    return {*side.stages, *(("census",) if "queue" in side.stages else ())}


def _problems(side: WorkloadMap) -> dict[tuple[str, str], MapProblem]:
    return {(problem.stage, problem.workload): problem for problem in side.problems}


def _observed(
    name: str, before: MapProblem | None, after: MapProblem | None
) -> Iterator[MapChange]:
    """Of a workload, or of what a stage asks the device for all of them (the sweep, the probe)."""
    if before is None and after is not None:
        subject = name or after.stage
        why = f"can no longer be observed ({after.stage}: {after.reason}: {after.detail})"
        counts_as = "correctness" if after.stage == "correctness" else "coverage"
        change = _lost(subject, why).model_copy(update={"counts_as": counts_as})
        yield change if name else change.model_copy(update={"workloads": ()})
    elif before is not None and after is None:
        subject = name or before.stage
        yield MapChange(
            kind="workload observed again",
            subject=subject,
            workloads=(name,) if name else (),
            base=before.detail,
            sentence=f"{subject} can be observed again ({before.stage})",
        )


def _lost(name: str, why: str) -> MapChange:
    return MapChange(
        kind="workload lost", subject=name, workloads=(name,), sentence=f"{name} {why}", lost=True
    )


def _kind_of_work(base: MappedWorkload, head: MappedWorkload) -> Iterator[MapChange]:
    """Another class; what a side left open for want of a declared device is no change."""
    old, new = base.intensity, head.intensity
    if old and new and NO_DEVICE not in (old.reason, new.reason):
        yield from _class("bound", base.id, old.bound, new.bound)
    yield from _communication(base, head)
    before, after = base.memory, head.memory
    if before and after and "unknown" not in (before.fits, after.fits):
        yield from _class("memory", base.id, before.fits, after.fits)


def _class(kind: ChangeKind, name: str, old: str, new: str) -> Iterator[MapChange]:
    if old != new:
        yield MapChange(
            kind=kind,
            subject=name,
            workloads=(name,),
            base=old,
            head=new,
            sentence=f"{name} was {old}, is {new}",
        )


def _communication(base: MappedWorkload, head: MappedWorkload) -> Iterator[MapChange]:
    """Another pattern, or other counts and bytes of it; what a side could not tell is no change."""
    old, new = base.communication, head.communication
    if old is None or new is None or "undetermined" in (old.status, new.status):
        return
    was, now = _told(old), _told(new)
    if was != now:
        yield MapChange(
            kind="communication",
            subject=base.id,
            workloads=(base.id,),
            base=was,
            head=now,
            sentence=f"{base.id} communicated by {was}, does by {now}",
        )


def _told(found: CommunicationPattern) -> str:
    if found.status == "none":
        return "nothing"
    calls = "1 call" if found.calls == 1 else f"{found.calls} calls"
    return (
        f"{', '.join(found.classes)} in {found.ranks} ranks ({calls}, {found.bytes:,} bytes a step)"
    )
