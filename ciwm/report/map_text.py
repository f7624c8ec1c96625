"""A workload map on a terminal: totals, workloads, what is not native, the queue, problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ciwm.report.escape import visible
from ciwm.report.figures import plural
from ciwm.report.map_device import show_device
from ciwm.report.map_words import (
    changed_totals,
    intensity_words,
    memory_words,
    pattern_words,
    step_words,
    support_words,
    totals_lines,
)
from ciwm.report.text_table import show_table

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records import WorkloadMap
    from ciwm.records.opmap import QueueEntry
    from ciwm.records.opmap_diff import MapDiff, MapTotals

NOT_NATIVE = ("hard-missing", "fallback-broken", "must-write", "fallback", "compiled-reuse")
KERNELS = 8  # of a step of the queue that are named


def show_map(
    found: WorkloadMap, totals: MapTotals, console: Console, diff: MapDiff | None = None
) -> None:
    """Print the whole map, the queue last; with `diff`, what changed after it."""
    _say(_origin(found), console)
    _workloads(found, console)
    _list("Totals", totals_lines(totals, found.provenance.target), console)
    _supports(found, console)
    _queue(found, console)
    show_device(found, console)
    for title, lines in (
        ("Problems", [f"{p.workload or 'all'}: {p.stage}: {p.detail}" for p in found.problems]),
        ("Suggestions", found.suggestions),
        ("Warnings", found.warnings),
        ("Limits", found.provenance.limits),
    ):
        _list(title, lines, console)
    if diff is not None:
        show_diff(diff, console)


def show_diff(diff: MapDiff, console: Console) -> None:
    """Print the changes between two maps, what blocks first, the answer last.

    That a part could not be compared comes before them all, and is the answer where nothing blocks.
    """
    if diff.void:
        console.print()
        _say(f"Void: {diff.void}", console, style="bold yellow")
    rows = [
        (
            "blocks" if one.blocks else "lost" if one.lost else "",
            one.kind,
            one.sentence,
        )
        for one in diff.changes
    ]
    if rows:
        show_table("Changes", ("", "kind", "what"), rows, console)
    _list("Warnings", diff.warnings, console)
    console.print()
    _say(f"Map: {changed_totals(diff)}", console)
    _answer(diff, console)


def _answer(diff: MapDiff, console: Console) -> None:
    if diff.blocks:
        _say(f"blocks: {diff.reason}", console, style="bold red")
    elif diff.void:
        _say("void: the two maps are not alike, see above", console, style="bold yellow")
    else:
        _say("no loss blocks", console, style="bold green")


def _origin(found: WorkloadMap) -> str:
    source = found.provenance
    target = f", target {source.target}" if source.target else ""
    seen = f"; seen by the {source.capture}" if source.capture else ""
    torch = f"torch {source.torch} ({source.interpreter})" if source.torch else "no torch was seen"
    return f"{torch}{target}{seen}"


def _workloads(found: WorkloadMap, console: Console) -> None:
    needed: dict[str, set[str]] = {}
    for use in found.ops:
        if not use.structural:
            needed.setdefault(use.workload, set()).add(use.op)
    rows = [
        (
            one.id,
            one.phase or "",
            str(len(needed.get(one.id, ()))) if one.id in needed else "",
            intensity_words(one.intensity),
            memory_words(one.memory),
        )
        for one in found.workloads
    ]
    headers = ("workload", "phase", "kernels", "intensity", "memory")
    show_table("Workloads", headers, rows, console)
    _communication(found, console)
    _list("Notes", [f"{one.id}: {note}" for one in found.workloads for note in one.notes], console)


def _communication(found: WorkloadMap, console: Console) -> None:
    """Of workloads of several devices; one device has nobody to talk to."""
    lines = [
        f"{one.id}: {pattern_words(one.communication)}"
        for one in found.workloads
        if one.communication is not None and one.devices > 1
    ]
    _list("Communication patterns", lines, console)


def _supports(found: WorkloadMap, console: Console) -> None:
    if not found.supports:
        return
    console.print()
    told = support_words(found.supports)
    _say(f"Evidence: {told}", console, style="bold")
    rows = [
        (one.op, one.support, str(one.calls or ""), one.level, one.evidence)
        for one in found.supports
        if one.support in NOT_NATIVE and one.calls
    ]
    if rows:
        show_table("Not native", ("operator", "class", "calls", "level", "evidence"), rows, console)


def _queue(found: WorkloadMap, console: Console) -> None:
    rows = [
        (str(entry.order), str(len(entry.kernels)), step_words(entry), _kernels(entry))
        for entry in found.queue
    ]
    if rows:
        show_table("Kernels to write, in order", ("step", "new", "what", "kernels"), rows, console)
    _list("Blocked", [f"{one.workload}: {one.reason}" for one in found.blocked], console)


def _kernels(entry: QueueEntry) -> str:
    shown = ", ".join(kernel.op.removeprefix("aten::") for kernel in entry.kernels[:KERNELS])
    left = len(entry.kernels) - KERNELS
    return f"{shown} and {plural(left, 'more', 'more')}" if left > 0 else shown


def _list(title: str, lines: object, console: Console) -> None:
    if not isinstance(lines, (list, tuple)) or not lines:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for line in lines:
        _say(f"- {line}", console)


def _say(text: str, console: Console, style: str = "") -> None:
    """One line, however long; what a workload says is shown and never obeyed."""
    console.print(
        visible(text), style=style, markup=False, highlight=False, soft_wrap=True, emoji=False
    )
