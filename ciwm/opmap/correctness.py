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
NO_LONGER, RIGHT_AGAIN, UNCHECKED = (
    "is no longer right",
    "is right again",
    "can no longer be checked",
)


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
    details = {check.operator: check for check in reversed(after.checks)}
    for (what, operator), moves in _moves(before, after).items():
        told = f"{operator} {what} on {after.device} ({'; '.join(moves[:NAMED])})"
        check = details.get(operator)
        why = f": {check.detail}" if check is not None and what != RIGHT_AGAIN else ""
        yield _change(operator, told + why, lost=what == NO_LONGER)


def _moves(before: Sweep, after: Sweep) -> dict[tuple[str, str], list[str]]:
    """What became of operators -> which of their verdicts; losses first."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, verdict in after.verdicts.items():
        operator, dtype, direction = _split(name)
        old = before.verdicts.get(name) or (None if dtype else _of_all(before, operator))
        what = None if old is None else _became(old, verdict)
        if what is not None:
            rest = f"{dtype} {direction}".strip()
            found.setdefault((what, operator), []).append(f"{rest}: {old} → {verdict}")
    order = (NO_LONGER, RIGHT_AGAIN, UNCHECKED)
    return dict(sorted(found.items(), key=lambda item: order.index(item[0][0])))


def _became(old: CheckVerdict, new: CheckVerdict) -> str | None:
    """None where nothing changed that matters: strict and drift are both right."""
    if new == "untestable":
        return None if old == new else UNCHECKED
    if (old in FAILED) == (new in FAILED):
        return None
    return NO_LONGER if new in FAILED else RIGHT_AGAIN


def _split(name: str) -> tuple[str, str, str]:
    """The operator, whose name may have blanks (`float8 cast to float32`); dtype and direction."""
    rest, _, direction = name.rpartition(" ")
    operator, _, dtype = rest.rpartition(" ")
    return operator, dtype, direction


def _of_all(before: Sweep, operator: str) -> CheckVerdict | None:
    """Of an operator that died before its first call, and so has no dtype: whether it was right."""
    known = [verdict for name, verdict in before.verdicts.items() if _split(name)[0] == operator]
    return next((verdict for verdict in known if verdict not in FAILED), next(iter(known), None))


def _workload_changes(
    before: WorkloadCorrectness, after: WorkloadCorrectness
) -> Iterator[MapChange]:
    """Calls of a workload, and what its whole model gives, that became wrong, or right again."""
    yield from _call_changes(before, after)
    old = {check.what: check.verdict for check in before.model}
    for check in after.model:
        was = old.get(check.what)
        if was is None or _became(was, check.verdict) is None:
            continue
        lost = check.verdict in FAILED
        told = f"{after.workload}: {check.what} {was} → {check.verdict} on {after.device}"
        told += f": {check.detail}" if check.detail and lost else ""
        yield _change(after.workload, told, lost=lost, workloads=(after.workload,))


def _call_changes(before: WorkloadCorrectness, after: WorkloadCorrectness) -> Iterator[MapChange]:
    """By overload; a call that only one side makes and that is wrong there is news, too."""
    old, new = _failing_calls(before), _failing_calls(after)
    for operator in sorted(new.keys() - old.keys()):
        check = new[operator]
        told = f"{after.workload}: a call of {operator} is {check.verdict} on {after.device}"
        told += f": {check.detail}" if check.detail else ""
        yield _change(operator, told, lost=True, workloads=(after.workload,))
    for operator in sorted(old.keys() - new.keys()):
        told = f"{after.workload}: no call of {operator} is wrong any more on {after.device}"
        yield _change(operator, told, lost=False, workloads=(after.workload,))


def _failing_calls(side: WorkloadCorrectness) -> dict[str, OperatorCheck]:
    return {check.operator: check for check in side.checks if check.verdict in FAILED}


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
