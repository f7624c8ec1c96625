"""Correctness of a device, from what the sweep and the workload observers said."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ciwm.records.opmap_correctness import (
    FAILED,
    Correctness,
    ModelCheck,
    OperatorCheck,
    PlantedDefect,
    Sweep,
    WorkloadCorrectness,
)
from ciwm.records.opmap_diff import MapChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ciwm.opmap.observe import Observed
    from ciwm.records import WorkloadMap
    from ciwm.records.opmap_correctness import CheckVerdict

KEPT = ("strict", "drift")
NAMED = 6  # operators in one sentence


def sweep_of(observed: Observed) -> Sweep | None:
    """The operator sweep; None when it did not begin."""
    plan = next((line for line in observed.lines if line.get("kind") == "plan"), None)
    if plan is None:
        return None
    checks = [_check(line) for line in observed.lines if line.get("kind") == "check"]
    cases: Counter[CheckVerdict] = Counter()
    for check in checks:
        for counts in check.counts.values():
            cases.update(counts)
    return Sweep(
        device=plan["device"],
        key=plan["key"],
        dtypes=tuple(plan["dtypes"]),
        sources=tuple(plan["sources"]),
        samples=plan["samples"],
        operators=plan["operators"],
        known=plan["known"],
        cases=dict(cases),
        verdicts={_name(check): check.verdict for check in sorted(checks, key=_name)},
        kernels=_kernels(observed),
        checks=_failing(checks),
        planted=_planted(observed),
    )


def _kernels(observed: Observed) -> dict[str, tuple[str, ...]]:
    """Which operators and directions are checks of a kernel."""
    found: dict[str, set[str]] = {}
    for line in observed.lines:
        for kernel in line.get("kernels", ()):
            found.setdefault(kernel, set()).add(f"{line['operator']} {line['direction']}")
    return {kernel: tuple(sorted(found[kernel])) for kernel in sorted(found)}


def _check(line: Mapping[str, Any]) -> OperatorCheck:
    return OperatorCheck.model_validate(
        {name: line[name] for name in OperatorCheck.model_fields if name in line}
    )


def _name(check: OperatorCheck) -> str:
    return f"{check.operator} {check.dtype} {check.direction}"


def _failing(checks: Sequence[OperatorCheck]) -> tuple[OperatorCheck, ...]:
    """Those that are neither strict nor drift, the gravest first, then by name."""
    order = {verdict: place for place, verdict in enumerate(FAILED)}
    found = [check for check in checks if check.verdict not in KEPT]
    return tuple(
        sorted(found, key=lambda check: (order.get(check.verdict, len(order)), _name(check)))
    )


def _planted(observed: Observed) -> tuple[PlantedDefect, ...]:
    """What was planted and caught; one whose process died is not caught."""
    return tuple(
        PlantedDefect(
            defect=line["defect"],
            what=line["what"],
            caught=bool(line["alarms"]),
            alarms=tuple(line["alarms"]),
        )
        for line in observed.lines
        if line.get("kind") == "planted"
    )


def workload_correctness(workload: str, observed: Observed) -> WorkloadCorrectness | None:
    """One workload's checks; None when it did not run on the CPU."""
    captured = next((line for line in observed.lines if line.get("kind") == "captured"), None)
    if captured is None:
        return None
    checks = [_check(line) for line in observed.lines if line.get("kind") == "check"]
    fields = ModelCheck.model_fields
    return WorkloadCorrectness(
        workload=workload,
        device=captured["device"],
        calls=captured["calls"],
        too_large=captured["too_large"],
        checks=_failing(checks),
        model=tuple(
            ModelCheck.model_validate({name: line[name] for name in fields if name in line})
            for line in observed.lines
            if line.get("kind") == "model"
        ),
    )


def correctness_changes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """Verdicts that became worse or better, of what both sides checked on the same device."""
    before, after = base.correctness, head.correctness
    if before is None or after is None:
        return
    if before.sweep and after.sweep and before.sweep.device == after.sweep.device:
        yield from _sweep_changes(before.sweep, after.sweep)
    known = {one.workload: one for one in before.workloads}
    for one in after.workloads:
        if one.workload in known and known[one.workload].device == one.device:
            yield from _workload_changes(known[one.workload], one)


def _sweep_changes(before: Sweep, after: Sweep) -> Iterator[MapChange]:
    """One change for each operator; its dtypes and directions are named."""
    worse: dict[str, list[str]] = {}
    better: dict[str, list[str]] = {}
    for name, verdict in after.verdicts.items():
        old = before.verdicts.get(name)
        if old is None or (old in FAILED) == (verdict in FAILED):
            continue
        operator, _, rest = name.partition(" ")
        listed = worse if verdict in FAILED else better
        listed.setdefault(operator, []).append(f"{rest}: {old} → {verdict}")
    details = {check.operator: check for check in reversed(after.checks)}
    for operator, moves in worse.items():
        told = f"{operator} is no longer right on {after.device} ({'; '.join(moves[:NAMED])})"
        check = details.get(operator)
        yield _change(operator, told + (f": {check.detail}" if check else ""), lost=True)
    for operator, moves in better.items():
        told = f"{operator} is right again on {after.device} ({'; '.join(moves[:NAMED])})"
        yield _change(operator, told, lost=False)


def _workload_changes(
    before: WorkloadCorrectness, after: WorkloadCorrectness
) -> Iterator[MapChange]:
    """What a whole model gives that became wrong, or right again."""
    old = {check.what: check.verdict for check in before.model}
    for check in after.model:
        was = old.get(check.what)
        if was is None or (was in FAILED) == (check.verdict in FAILED):
            continue
        lost = check.verdict in FAILED
        told = f"{after.workload}: {check.what} {was} → {check.verdict} on {after.device}"
        told += f": {check.detail}" if check.detail and lost else ""
        yield _change(after.workload, told, lost=lost, workloads=(after.workload,))


def _change(
    subject: str, sentence: str, *, lost: bool, workloads: tuple[str, ...] = ()
) -> MapChange:
    return MapChange(
        kind="correctness worse" if lost else "correctness better",
        subject=subject,
        workloads=workloads,
        sentence=sentence,
        lost=lost,
        counts_as="correctness",
    )


def joined(sweep: Sweep | None, workloads: Sequence[WorkloadCorrectness]) -> Correctness | None:
    """All of it; None when nothing was checked."""
    if sweep is None and not workloads:
        return None
    return Correctness(sweep=sweep, workloads=tuple(workloads))
