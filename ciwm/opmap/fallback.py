"""Fallbacks of workloads, from what the profiling observer said."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ciwm.gate_config import matches
from ciwm.opmap.libraries import library_of
from ciwm.records.opmap_diff import MapChange
from ciwm.records.opmap_fallback import FallbackOp, HiddenCopy, LibraryUse, WorkloadFallbacks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ciwm.config_map import FallbackBudget
    from ciwm.opmap.observe import Observed
    from ciwm.records import WorkloadMap

US = 1e-6
UNKNOWN = "not known by its name"


def workload_fallbacks(workload: str, observed: Observed) -> WorkloadFallbacks | None:
    """One workload's fallbacks; None when no step was profiled."""
    step = next(iter(_of_kind(observed, "step")), None)
    if step is None:
        return None
    step_us = float(step["step_us"])
    ops = [_op(line, step_us) for line in _of_kind(observed, "fallback")]
    ops.sort(key=lambda one: (-one.time_s, one.op))
    return WorkloadFallbacks(
        workload=workload,
        device=str(step["device"]),
        steps=int(step["steps"]),
        step_s=step_us * US,
        calls=sum(one.calls for one in ops),
        time_share_pct=sum(one.time_share_pct for one in ops),
        ops=tuple(ops),
        hidden=tuple(
            HiddenCopy(op=line["operator"], what=line["what"], calls=float(line["calls"]))
            for line in _of_kind(observed, "hidden")
        ),
        libraries=_libraries(observed),
    )


def _of_kind(observed: Observed, kind: str) -> list[dict[str, Any]]:
    return [line for line in observed.lines if line.get("kind") == kind]


def _op(line: Mapping[str, Any], step_us: float) -> FallbackOp:
    time_us = float(line["time_us"])
    return FallbackOp(
        op=line["operator"],
        overloads={name: int(count) for name, count in line["overloads"].items()},
        calls=float(line["calls"]),
        time_s=time_us * US,
        time_share_pct=100 * time_us / step_us if step_us > 0 else 0.0,
    )


def _libraries(observed: Observed) -> tuple[LibraryUse, ...]:
    """Kernels by library, and what the CPU's libraries logged themselves."""
    kernels: dict[str, list[dict[str, Any]]] = defaultdict(list)
    sources: dict[str, str] = {}
    for line in _of_kind(observed, "kernel"):
        rule = library_of(line["kernel"])
        library = rule.library if rule else UNKNOWN
        kernels[library].append(line)
        sources[library] = f"kernel names: {rule.source}" if rule else ""
    logged: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in _of_kind(observed, "library"):
        logged[line["library"]].append(line)
    found = [_use(name, lines, "kernel", sources[name]) for name, lines in kernels.items()]
    found += [_use(name, lines, "primitive", "its own log") for name, lines in logged.items()]
    return tuple(sorted(found, key=lambda one: (-one.time_s, one.library)))


def _use(library: str, lines: Sequence[Mapping[str, Any]], what: str, source: str) -> LibraryUse:
    by_time = sorted(lines, key=lambda line: -float(line["time_us"]))
    return LibraryUse(
        library=library,
        operators=tuple(sorted({line["operator"] for line in lines if line.get("operator")})),
        kernels=tuple(dict.fromkeys(str(line[what]) for line in by_time)),
        calls=sum(float(line["calls"]) for line in lines),
        time_s=sum(float(line["time_us"]) for line in lines) * US,
        evidence=source,
    )


def fallback_changes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """Operators that fall back at head and did not at base, or the other way round.

    Only workloads that were profiled on both sides, on the same kind of device, are compared.
    """
    before = {one.workload: one for one in base.fallbacks}
    both = [
        (before[one.workload], one)
        for one in head.fallbacks
        if one.workload in before and before[one.workload].device == one.device
    ]
    yield from _moved(both, new=True)
    yield from _moved(both, new=False)
    for one, other in both:
        yield from _suspected(one, other)


def _moved(
    both: Sequence[tuple[WorkloadFallbacks, WorkloadFallbacks]], *, new: bool
) -> Iterator[MapChange]:
    """One change for each operator, over all workloads it appeared in (or left)."""
    found: dict[str, list[tuple[str, FallbackOp]]] = defaultdict(list)
    for base, head in both:
        here, there = (head, base) if new else (base, head)
        for name, op in _apart(here, there):
            found[name].append((here.workload, op))
    for name, uses in sorted(found.items(), key=lambda item: (-_share(item[1]), item[0])):
        workloads = [workload for workload, _ in uses]
        told, where = _how_much(name, uses), f" ({_worst(uses)})"
        yield MapChange(
            kind="fallback new" if new else "fallback gone",
            subject=name,
            workloads=tuple(workloads),
            base="" if new else "fallback",
            head="fallback" if new else "",
            sentence=told + where if new else f"{name} no longer falls back to the CPU{where}",
            lost=new,
        )


def _suspected(base: WorkloadFallbacks, head: WorkloadFallbacks) -> Iterator[MapChange]:
    """Copies to the host below an operator that had none: told, and no loss while not proven."""
    known = {copy.op for copy in base.hidden}
    for copy in head.hidden:
        if copy.op not in known:
            told = f"{copy.op}, suspected: {copy.calls:g} copies to the host a step below it"
            yield MapChange(
                kind="fallback new",
                subject=copy.op,
                workloads=(head.workload,),
                head="suspected",
                sentence=f"{told} ({head.workload})",
            )


def _apart(here: WorkloadFallbacks, there: WorkloadFallbacks) -> Iterator[tuple[str, FallbackOp]]:
    """Operators that fall back here alone; of one that does on both sides, its overloads."""
    known = {op.op: op.overloads for op in there.ops}
    for op in here.ops:
        if op.op not in known:
            yield op.op, op
        elif known[op.op]:  # traced there, so that what is not among them did not fall back
            for name in sorted(op.overloads.keys() - known[op.op].keys()):
                yield name, op.model_copy(update={"calls": float(op.overloads[name])})


def _how_much(name: str, uses: Sequence[tuple[str, FallbackOp]]) -> str:
    """Of an overload the profile has calls, and the time of all overloads together."""
    share = f"{_share(uses):.3g} % of step time"
    calls = f"{sum(op.calls for _, op in uses):g} calls a step"
    if any(op.op == name for _, op in uses):
        return f"{name}, {share}, {calls}"
    return f"{name}, {calls}; all of {uses[0][1].op} take {share}"


def _share(uses: Sequence[tuple[str, FallbackOp]]) -> float:
    """Its largest share of any workload's step, in percent."""
    return max(op.time_share_pct for _, op in uses)


def _worst(uses: Sequence[tuple[str, FallbackOp]]) -> str:
    workload, _ = max(uses, key=lambda use: use[1].time_share_pct)
    return workload if len(uses) == 1 else f"{workload}, and {len(uses) - 1} more"


def over_budget(head: WorkloadMap, budgets: Sequence[FallbackBudget]) -> Iterator[MapChange]:
    """Workloads whose profiled fallbacks exceed their budget, in calls a step or time share."""
    phases = {one.id: one.workload for one in head.workloads}
    for one in head.fallbacks:
        names = (one.workload, phases.get(one.workload, one.workload))
        budget = next((b for b in budgets if any(matches(n, b.match) for n in names)), None)
        if budget is None:
            continue
        over = []
        if budget.calls is not None and one.calls > budget.calls:
            over.append(f"{one.calls:g} calls a step, budget {budget.calls}")
        if budget.share_pct is not None and one.time_share_pct > budget.share_pct:
            over.append(f"{one.time_share_pct:.3g} % of its step, budget {budget.share_pct:g} %")
        if over:
            yield MapChange(
                kind="fallback budget",
                subject=one.workload,
                workloads=(one.workload,),
                head=over[0],
                sentence=f"{one.workload} falls back to the CPU on {one.device}: {'; '.join(over)}",
                lost=True,
            )
