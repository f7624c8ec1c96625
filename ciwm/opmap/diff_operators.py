"""Kernels that workloads began or ceased to need, and classes that changed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ciwm.opmap.alike import same_target
from ciwm.opmap.support import UNSERVED, WORST
from ciwm.records.opmap_diff import MapChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ciwm.records import WorkloadMap
    from ciwm.records.opmap import OpSupport

NAMED = 3  # workloads in a sentence


def operator_changes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """Kernels gained and lost among workloads that both sides observed; then classes."""
    both = _observed(base) & _observed(head)
    if not (_counted(base) and _counted(head)):
        both = set()
    needed, needs = _needs(base, both), _needs(head, both)
    served = {one.op: one for one in head.supports}
    for op in sorted(needed.keys() | needs.keys()):
        before, after = needed.get(op, {}), needs.get(op, {})
        gained = sorted(after.keys() - before.keys())
        gone = sorted(before.keys() - after.keys())
        if gained:
            calls, elsewhere = sum(after[name] for name in gained), _asked_otherwise(head, gained)
            yield _needed(op, gained, calls, served.get(op), elsewhere)
        if gone:
            yield MapChange(
                kind="kernel no longer needed",
                subject=op,
                workloads=tuple(gone),
                sentence=f"{op} is no longer needed by {_listed(gone)}",
            )
    yield from _asked(
        base, head, {op for op in needs if needs[op].keys() - needed.get(op, {}).keys()}
    )
    yield from _classes(base, head)


def _asked(base: WorkloadMap, head: WorkloadMap, told: set[str]) -> Iterator[MapChange]:
    """What a workload newly asks the target for, which does not serve it, told nowhere above."""
    if not same_target(base, head):
        return
    before, after = _pairs(base), _pairs(head, *UNSERVED)
    both = {name for name, _ in before} & {one.id for one in head.workloads}
    served = {one.op: one for one in head.supports}
    found: dict[str, list[str]] = defaultdict(list)
    for name, op in sorted(after - before):
        if name in both and op not in told:
            found[op].append(name)
    for op, names in found.items():
        yield _needed(op, names, served[op].calls if op in served else 0, served.get(op))


def _pairs(side: WorkloadMap, *classes: str) -> set[tuple[str, str]]:
    """Workloads and operators that they ask the target for."""
    return {
        (each.workload, op)
        for each in side.coverage
        if not classes or each.support in classes
        for op in each.ops
    }


def _counted(side: WorkloadMap) -> bool:
    """Whether a census was taken: without one, nothing is no longer needed."""
    return not {"census", "queue"}.isdisjoint(side.stages)


def _observed(side: WorkloadMap) -> set[str]:
    broken = {problem.workload for problem in side.problems if problem.stage == "census"}
    return {one.id for one in side.workloads if one.id not in broken}


def _needs(side: WorkloadMap, workloads: set[str]) -> dict[str, dict[str, int]]:
    """Calls by operator and workload."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for use in side.ops:
        if not use.structural and use.workload in workloads:
            found[use.op][use.workload] += use.count
    return found


def _asked_otherwise(head: WorkloadMap, workloads: list[str]) -> str:
    """Of an operator that has no class on the target although its workloads were seen there."""
    seen = {name for one in head.supports for name in one.workloads}
    if not seen.issuperset(workloads):
        return ""
    return f"; {head.supports[0].target} is not asked for it by this name"


def _needed(
    op: str, workloads: list[str], calls: int, support: OpSupport | None, elsewhere: str = ""
) -> MapChange:
    """A kernel more; on a target it is a loss only where nothing serves it."""
    lost = support is not None and support.support in UNSERVED
    served = elsewhere if support is None else f", which is {support.support} on {support.target}"
    return MapChange(
        kind="kernel needed",
        subject=op,
        workloads=tuple(workloads),
        head=support.support if support else "",
        sentence=f"{op} is newly needed by {_listed(workloads)} ({_calls(calls)}){served}",
        lost=lost,
    )


def _classes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """Operators served otherwise; a new fallback is named as what it is."""
    before: Mapping[str, OpSupport] = {one.op: one for one in base.supports}
    for one in head.supports:
        old = before.get(one.op)
        if old is None or old.support == one.support or old.target != one.target:
            continue
        worse = WORST.index(one.support) < WORST.index(old.support)
        composite = not one.calls  # it is as its leaves are, and they are told by themselves
        kind = "class worse" if worse else "class better"
        told = f"{one.op} was {old.support} on {one.target}, is {one.support}: {one.evidence}"
        if worse and not composite and one.support in ("fallback", "fallback-broken"):
            kind = "fallback new"
            how_often = _calls(one.calls)
            told = f"{one.op}, {how_often}, was {old.support} on {one.target}: {one.evidence}"
        elif not worse and old.support in ("fallback", "fallback-broken"):
            kind = "fallback gone"
        yield MapChange.model_validate(
            {
                "kind": kind,
                "subject": one.op,
                "workloads": one.workloads,
                "base": old.support,
                "head": one.support,
                "sentence": told,
                "lost": worse and not composite,
            }
        )


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
