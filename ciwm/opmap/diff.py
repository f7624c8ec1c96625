"""What changed between two maps, and what of it blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.gate_config import matches
from ciwm.opmap.alike import void_reason
from ciwm.opmap.communication import communication_changes
from ciwm.opmap.compile_paths import compile_changes
from ciwm.opmap.correctness import correctness_changes
from ciwm.opmap.diff_device import device_changes, device_warnings
from ciwm.opmap.diff_operators import operator_changes
from ciwm.opmap.diff_queue import queue_changes
from ciwm.opmap.diff_workloads import workload_changes
from ciwm.opmap.fallback import fallback_changes, over_budget
from ciwm.opmap.totals import totals
from ciwm.policy.map_gate import judged_map
from ciwm.records.opmap_diff import MapChange, MapDiff

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ciwm.config_map import FallbackBudget
    from ciwm.gate_config import BlockOn
    from ciwm.records import WorkloadMap

# each part of a map has its own; one line more for each
DIFFERS: tuple[Callable[[WorkloadMap, WorkloadMap], Iterable[MapChange]], ...] = (
    workload_changes,
    device_changes,
    operator_changes,
    fallback_changes,
    correctness_changes,
    communication_changes,
    compile_changes,
    queue_changes,
)


def map_diff(
    base: WorkloadMap,
    head: WorkloadMap,
    block_on: Iterable[BlockOn],
    budgets: Iterable[FallbackBudget] = (),
) -> MapDiff:
    """Every change, those that block first; only what both sides observed is compared."""
    changes = [change for differ in DIFFERS for change in differ(base, head)]
    limits = tuple(budgets)
    changes += [*_over_budget(head, limits), *over_budget(head, limits)]
    warnings = (*_comparable(base, head), *_budget_warnings(base, head, limits))
    diff = MapDiff(
        base=base.provenance,
        head=head.provenance,
        void=void_reason(base, head),
        base_totals=totals(base),
        head_totals=totals(head),
        changes=tuple(changes),
        warnings=warnings,
    )
    return judged_map(diff, block_on)


def _over_budget(head: WorkloadMap, budgets: tuple[FallbackBudget, ...]) -> Iterator[MapChange]:
    """Workloads of which more is left to the CPU than their budget allows."""
    for workload in head.workloads:
        names = (workload.id, workload.workload)
        fitting = (one for one in budgets if any(matches(name, one.match) for name in names))
        budget = next(fitting, None)
        if budget is None or budget.calls is None:
            continue
        counted = [
            each
            for each in head.coverage
            if each.workload == workload.id and each.support in ("fallback", "fallback-broken")
        ]
        calls = sum(each.calls for each in counted)
        if calls > budget.calls:
            ops = ", ".join(op for each in counted for op in each.ops)
            yield MapChange(
                kind="fallback budget",
                subject=workload.id,
                workloads=(workload.id,),
                head=str(calls),
                sentence=f"{workload.id}: {calls} calls fall back to the CPU ({ops}), "
                f"budget {budget.calls}",
                lost=True,
            )


def _budget_warnings(
    base: WorkloadMap, head: WorkloadMap, budgets: tuple[FallbackBudget, ...]
) -> Iterator[str]:
    """Budgets that limit nothing: of no workload (one is misspelt), or of what nobody counted."""
    known = (*base.workloads, *head.workloads)
    names = {name for one in known for name in (one.id, one.workload)}
    profiled = "fallback" in head.stages
    counted = profiled or ("ghost" in head.stages and head.provenance.target is not None)
    for budget in budgets:
        what = f"[[map.fallback_budget]] {budget.match}"
        if not any(matches(name, budget.match) for name in names):
            yield f"{what} matches no workload"
        elif budget.share_pct is not None and not profiled:
            yield f"{what}: no share of time is known without the stage fallback"
        elif budget.calls is not None and not counted:
            yield f"{what}: no calls are known without the stage fallback, or ghost and a target"


def _comparable(base: WorkloadMap, head: WorkloadMap) -> Iterator[str]:
    one, other = base.provenance, head.provenance
    if one.capture and other.capture and one.capture != other.capture:
        yield f"base was seen by the {one.capture}, head by the {other.capture}"
    if one.torch != other.torch:
        yield f"torch {one.torch} at base, {other.torch} at head: kernels differ by that too"
    missing = [stage for stage in base.stages if stage not in head.stages]
    if missing:
        yield f"head has not run what base has: {', '.join(missing)}; that is not compared"
    yield from device_warnings(base, head)
