"""How the queue of kernels to write changed; what is lost is told elsewhere: this never blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.opmap.alike import same_target
from ciwm.records.opmap_diff import MapChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ciwm.records import WorkloadMap
    from ciwm.records.opmap import QueueEntry

NAMED = 6  # kernels, or steps, in a sentence
WHAT = "kernels to write"


def queue_changes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """One change for kernels that came and went, or for the order; one for each broken proof.

    A workload that head could not observe is a loss, and what it lacks is not known: no change.
    Of two targets the queues have nothing to do with each other.
    """
    ordered = "queue" in base.stages and "queue" in head.stages
    if not ordered or not same_target(base, head) or _told(base) - _told(head):
        return
    old, new = _kernels(base), _kernels(head)
    if set(old) != set(new):
        yield _change(f"{_count(base)} → {_count(head)}", _moved(old, new, head))
    elif _steps(base) != _steps(head):
        yield _change(f"still {_count(head)}", f"in another order: {_first(head)}")
    yield from _unproven(base, head)


def _told(side: WorkloadMap) -> set[str]:
    return {name for entry in side.queue for name in entry.unlocks}


def _kernels(side: WorkloadMap) -> list[str]:
    """In the order of the queue."""
    return [kernel.op for entry in side.queue for kernel in entry.kernels]


def _steps(side: WorkloadMap) -> list[frozenset[str]]:
    """What is written together, in order; a workload that lacks nothing is no step."""
    return [_ops(entry) for entry in side.queue if entry.kernels]


def _ops(entry: QueueEntry) -> frozenset[str]:
    return frozenset(kernel.op for kernel in entry.kernels)


def _count(side: WorkloadMap) -> str:
    steps = sum(bool(entry.kernels) for entry in side.queue)
    return f"{len(_kernels(side))} in {steps} step{'' if steps == 1 else 's'}"


def _moved(old: list[str], new: list[str], head: WorkloadMap) -> str:
    came, went = [op for op in new if op not in old], [op for op in old if op not in new]
    parts = [f"new {_few(came)}"] if came else []
    parts += [f"no longer {_few(went)}"] if went else []
    parts += [_first(head)] if new else ["nothing is left to write"]
    return "; ".join(parts)


def _first(head: WorkloadMap) -> str:
    step = next(entry for entry in head.queue if entry.kernels)
    kernels = _few([kernel.op for kernel in step.kernels])
    return f"first {kernels}, which unlocks {_few(step.unlocks)}"


def _few(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return ", ".join(listed[:NAMED]) + more


def _unproven(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """Workloads whose strict run passed with the kernels so far, and does not now."""
    passed = {proof.workload for entry in base.queue for proof in entry.proofs if proof.passes}
    for entry in head.queue:
        for proof in entry.proofs:
            if proof.workload in passed and not proof.passes:
                told = f"{proof.workload} does not pass with its {proof.kernels}: {proof.detail}"
                yield _change("no longer proven", told)


def _change(what: str, told: str) -> MapChange:
    return MapChange(kind="queue", subject=WHAT, sentence=f"{WHAT}: {what}; {told}")
