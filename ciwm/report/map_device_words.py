"""What ran on a device, in sentences: fallbacks, correctness, collectives, compile paths."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ciwm.records.opmap_correctness import FAILED
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records.opmap_communication import CollectiveNeed, Communication
    from ciwm.records.opmap_compile import WorkloadCompile
    from ciwm.records.opmap_correctness import Correctness, OperatorCheck, Sweep
    from ciwm.records.opmap_fallback import WorkloadFallbacks

NAMED = 6


def fallback_words(one: WorkloadFallbacks) -> str:
    """How much of a workload's step ran on the CPU, and what else shows in its profile."""
    if one.device.split(":")[0] == "cpu":
        return f"{one.workload} ran on the CPU, where nothing can fall back"
    if not one.ops:
        told = f"{one.workload} on {one.device}: nothing falls back to the CPU"
    else:
        told = (
            f"{one.workload} on {one.device}: {plural(len(one.ops), 'operator')} back on the CPU, "
            f"{one.calls:g} calls and {one.time_share_pct:.3g} % of a step"
        )
    if one.hidden:
        copies = sum(copy.calls for copy in one.hidden)
        told += f"; {copies:g} copies to the host below operators are suspected"
    return told


def sweep_words(sweep: Sweep) -> str:
    """The operator sweep in one sentence, what its plan would have caught in another."""
    total = sum(sweep.cases.values())
    parts = [f"{count:,} {name}" for name, count in sorted(sweep.cases.items()) if count]
    told = (
        f"{sweep.operators} of {plural(sweep.known, 'operator')} on {sweep.device} in "
        f"{' and '.join(sweep.dtypes)}: {total:,} calls, {', '.join(parts)}"
    )
    return f"{told}. {planted_words(sweep)}" if sweep.planted else told


def planted_words(sweep: Sweep) -> str:
    """Which planted defects this plan catches, as measured, and whether it cries wolf."""
    defects = [one for one in sweep.planted if one.defect]
    missed = [one.defect for one in defects if not one.caught]
    caught = f"{len(defects) - len(missed)} of {plural(len(defects), 'planted defect')}"
    told = f"The same plan catches {caught}"
    told += f" (not {', '.join(missed)})" if missed else ""
    alarms = [alarm for one in sweep.planted if not one.defect for alarm in one.alarms]
    return told + (f", and raises {plural(len(alarms), 'false alarm')}" if alarms else "")


def check_words(check: OperatorCheck) -> str:
    """One operator's gravest case."""
    case = f" for {check.call}" if check.call else ""
    why = f": {check.detail}" if check.detail else ""
    return f"{check.verdict} {check.operator} {check.dtype} {check.direction}{case}{why}"


def correctness_words(found: Correctness) -> list[str]:
    """The sweep, then every workload."""
    lines = [sweep_words(found.sweep)] if found.sweep else []
    for one in found.workloads:
        failing = [check.operator for check in one.checks if check.verdict in FAILED]
        parts = [plural(one.calls, "distinct call") + " of its own replayed"]
        parts += [f"{plural(one.too_large, 'call')} could not be kept"] if one.too_large else []
        parts += [f"not right: {', '.join(failing[:NAMED])}"] if failing else []
        parts += [f"{check.what} {check.verdict}" for check in one.model]
        lines.append(f"{one.workload} on {one.device}: {'; '.join(parts)}")
    return lines


def communication_words(found: Communication) -> list[str]:
    """The probe, the strategies that could be set up, the gaps."""
    lines = []
    probe = found.probe
    if probe is not None:
        counts = Counter(cell.status for cell in probe.cells)
        told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        lines.append(f"{probe.backend}, {probe.ranks} ranks on {probe.device}: {told}")
    for one in found.strategies:
        if one.status in ("counted", "estimated"):
            needs = ", ".join(map(_need, one.needs))
            where = f"{one.workload}, {one.strategy} in {one.world} ranks ({one.status})"
            lines.append(f"{where}: {needs or 'nothing'}")
        elif one.status == "failed":
            lines.append(f"{one.workload}, {one.strategy} cannot be set up: {one.detail}")
    for gap in found.gaps:
        cell = f"{gap.primitive}{_op(gap.reduce_op)} in {gap.dtype}"
        lines.append(f"{gap.status}: {cell}, needed by {', '.join(gap.strategies)}: {gap.detail}")
    return lines


def _need(need: CollectiveNeed) -> str:
    if not need.dtype:
        return f"{need.calls} {need.primitive}"
    op = _op(need.reduce_op)
    return f"{need.calls} {need.primitive}{op} in {need.dtype} ({need.bytes:,} bytes)"


def _op(reduce_op: str) -> str:
    return f" {reduce_op}" if reduce_op else ""


def compile_words(one: WorkloadCompile) -> list[str]:
    """Every path of a workload, a line each; stacks that are not installed in one."""
    lines = []
    if one.graphs is not None:
        breaks = sum(each.count for each in one.graphs.breaks)
        told = f"{plural(one.graphs.graphs, 'graph')}, {plural(breaks, 'break')}"
        lines.append(f"TorchDynamo: {told if one.graphs.status == 'done' else one.graphs.detail}")
        lines += [f"break at {each.where or '?'}: {each.reason}" for each in one.graphs.breaks]
    if one.inductor is not None:
        lines.append(f"Inductor: {_inductor(one)}")
    if one.export is not None:
        done = f"{plural(one.export.operators, 'operator')}, not core: {_few(one.export.not_core)}"
        lines.append(f"torch.export: {done if one.export.status == 'done' else one.export.detail}")
    absent = [each.stack for each in one.importers if each.status == "not installed"]
    for each in one.importers:
        if each.status != "not installed":
            lacks = f": {_few(each.unsupported)}" if each.unsupported else ""
            why = f": {each.detail}" if each.detail else ""
            lines.append(f"{each.stack} {each.version}: {each.status}{lacks}{why}")
    if absent:
        lines.append(f"not installed: {', '.join(absent)}")
    return [f"{one.workload}: {line}" for line in lines]


def _inductor(one: WorkloadCompile) -> str:
    nodes = one.inductor
    assert nodes is not None  # noqa: S101  it was asked before
    if nodes.status == "failed" and not nodes.generated:
        return nodes.detail
    extern, fallback = sum(nodes.extern.values()), sum(nodes.fallback.values())
    told = f"{nodes.generated} generated, {extern} extern, {fallback} fallback"
    told += f" ({_few(sorted(nodes.fallback))})" if nodes.fallback else ""
    without = "" if nodes.codegen else ", lowered for the CPU: the device has no codegen"
    lacking = f"; not lowered: {nodes.detail}" if nodes.status == "failed" else ""
    return told + without + lacking


def _few(names: Sequence[str]) -> str:
    left = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {left} more" if left > 0 else "") or "none"
