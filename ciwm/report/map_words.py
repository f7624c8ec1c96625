"""A map's figures in words, the same in the terminal and in a comment."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ciwm.report.figures import plural, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.records.opmap import Intensity, Memory, OpSupport, Proof, QueueEntry
    from ciwm.records.opmap_communication import CollectiveNeed, CommunicationPattern
    from ciwm.records.opmap_diff import MapChange, MapDiff, MapTotals

SUREST = ("verified", "executed", "traced", "registered")  # levels of evidence
UNCOUNTED = 3  # operators that are named
_FLOPS = (("PFLOP", 1e15), ("TFLOP", 1e12), ("GFLOP", 1e9), ("MFLOP", 1e6), ("kFLOP", 1e3))


def totals_lines(totals: MapTotals, target: str | None) -> list[str]:
    """The map in sentences, each of which says what it counts and adds up."""
    lines = [f"workloads: {totals.observed} of {totals.workloads} observed"]
    if totals.problems:
        lines[0] += f", {plural(totals.problems, 'problem')}"
    if totals.kernels:
        lines.append(
            f"needed: {plural(totals.kernels, 'distinct kernel')} ({plural(totals.calls, 'call')}) "
            f"beside {totals.structural} structural; workloads share them"
        )
    if target is not None and totals.classes:
        lines.append(f"{target} is asked, by its own names, for {_sum(totals.classes)}")
        if totals.composites:
            lines.append(f"composites made of those: {_sum(totals.composites)}")
    if totals.to_write or totals.classes:
        lines.append(f"to write: {plural(totals.to_write, 'kernel')}")
    return lines


def _sum(classes: Mapping[str, int]) -> str:
    told = " + ".join(f"{count} {name}" for name, count in classes.items())
    return f"{sum(classes.values())} = {told}"


def changed_totals(diff: MapDiff) -> str:
    """Both sides' totals in one sentence; classes of two targets are not set side by side."""
    base, head = diff.base_totals, diff.head_totals
    parts = [
        _moved("workloads observed", base.observed, head.observed),
        _moved("kernels needed", base.kernels, head.kernels),
    ]
    where = diff.head.target or "the target"
    told = ", ".join(parts)
    if diff.base.target != diff.head.target:
        return told
    if base.classes or head.classes:
        told += f"; {where} is asked for {_changed(base.classes, head.classes)}"
    if base.composites or head.composites:
        told += f"; composites of those {_changed(base.composites, head.composites)}"
    return told


def _changed(base: Mapping[str, int], head: Mapping[str, int]) -> str:
    """The sum of each side, then its parts."""
    parts = [
        _moved(name, base.get(name, 0), head.get(name, 0))
        for name in sorted(base.keys() | head.keys())
    ]
    total = _moved("", sum(base.values()), sum(head.values())).strip()
    return f"{total} ({', '.join(parts)})"


def sentence(change: MapChange) -> str:
    """A change by itself; where the kind is told beside it, its sentence alone suffices."""
    return (
        f"new CPU fallback: {change.sentence}" if change.kind == "fallback new" else change.sentence
    )


def support_words(found: Sequence[OpSupport]) -> str:
    """How many operators are of each class, and by which evidence: the surest first."""
    classes: dict[str, Counter[str]] = {}
    for one in found:
        classes.setdefault(one.support, Counter())[one.level] += 1
    return ", ".join(
        f"{sum(levels.values())} {name} "
        f"({', '.join(f'{levels[level]} {level}' for level in SUREST if levels[level])})"
        for name, levels in classes.items()
    )


def _moved(what: str, base: int, head: int) -> str:
    return f"{what} {head}" if base == head else f"{what} {base} → {head}"


def flops(value: float) -> str:
    """FLOPs in the unit that reads best."""
    for unit, size in _FLOPS:
        if value >= size:
            return quantity(value / size, unit)
    return quantity(value, "FLOP")


def intensity_words(found: Intensity | None) -> str:
    """FLOPs, bounds of FLOP per byte, and what binds; empty where nothing was counted."""
    if found is None:
        return ""
    low, high = quantity(found.flop_per_byte_low, ""), quantity(found.flop_per_byte_high, "")
    uncounted = f" ({_few(found.uncounted)} not counted)" if found.uncounted else ""
    return f"{flops(found.flops)}{uncounted}, {low} to {high} FLOP/byte, {found.bound}"


def _few(ops: tuple[str, ...]) -> str:
    names = [op.removeprefix("aten::").removeprefix("aten.") for op in ops]
    more = len(names) - UNCOUNTED
    return ", ".join(names[:UNCOUNTED]) + (f" and {more} more" if more > 0 else "")


def memory_words(found: Memory | None) -> str:
    """The kinds of memory that a step needs."""
    if found is None:
        return ""
    kinds = (
        ("params", found.params_bytes),
        ("grads", found.grads_bytes),
        ("optimizer", found.optimizer_bytes),
        ("activations", found.activations_bytes),
    )
    parts = [f"{name} {quantity(size, 'bytes')}" for name, size in kinds if size]
    if found.kv_bytes_per_token:
        parts.append(f"KV {quantity(found.kv_bytes_per_token, 'bytes')} a token")
    fits = f", {found.fits}" if found.fits != "unknown" else ""
    return ", ".join(parts) + fits


def pattern_words(found: CommunicationPattern | None) -> str:
    """The pattern of a workload's collectives, with calls and bytes of a step and of a message."""
    if found is None or found.status != "determined":
        reason = f": {found.reason}" if found is not None and found.reason else ""
        return "" if found is None else f"{found.status}{reason}"
    calls = ", ".join(_collective(need) for need in found.collectives)
    sizes = f"{found.smallest_bytes:,} to {found.largest_bytes:,}"
    if found.smallest_bytes == found.largest_bytes:
        sizes = f"{found.largest_bytes:,}"
    told = f"{', '.join(found.classes)}, {found.source} in {found.ranks} ranks"
    told += f"; a step: {calls}; messages of {sizes} bytes"
    return f"{told} ({found.reason})" if found.reason else told


def _collective(need: CollectiveNeed) -> str:
    op = f" {need.reduce_op}" if need.reduce_op else ""
    if not need.dtype:
        return f"{need.calls} {need.primitive}"
    return f"{need.calls} {need.primitive}{op} in {need.dtype}, {need.bytes:,} bytes"


def step_words(entry: QueueEntry) -> str:
    """What a step of the queue unlocks, and how that is proven."""
    unlocked = ", ".join(entry.unlocks)
    if not entry.kernels:
        failing = "; ".join(proof_words(one) for one in entry.proofs if not one.passes)
        return f"nothing to write for {unlocked}" + (f" ({failing})" if failing else "")
    if not entry.proofs:
        return f"unlocks {unlocked}"
    if is_proven(entry):
        return f"unlocks {unlocked} (proven)"
    return f"unlocks {unlocked} ({'; '.join(map(proof_words, entry.proofs))})"


def is_proven(entry: QueueEntry) -> bool:
    """Whether every workload passes with the kernels, and each kernel was found to be needed."""
    passing = {proof.workload for proof in entry.proofs if proof.passes}
    without = {op for proof in entry.proofs for op in proof.fails_without}
    spare = any(proof.passes_without for proof in entry.proofs)
    new = {kernel.op for kernel in entry.kernels}
    return passing.issuperset(entry.unlocks) and new <= without and not spare


def proof_words(proof: Proof) -> str:
    """What strict runs of one workload said."""
    if not proof.passes:
        return f"{proof.workload} does not pass with these {proof.kernels}: {proof.detail}"
    told = f"{proof.workload} passes with exactly {plural(proof.kernels, 'kernel')}"
    if proof.fails_without:
        told += f", fails without any of {len(proof.fails_without)}"
    if proof.passes_without:
        told += f", passes also without {', '.join(proof.passes_without)}"
    return told
