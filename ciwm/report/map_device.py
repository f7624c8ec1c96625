"""What ran on a device, on a terminal and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ciwm.records.opmap_correctness import FAILED
from ciwm.report.detail import folded, name, table, words
from ciwm.report.escape import visible
from ciwm.report.figures import plural
from ciwm.report.map_device_words import (
    check_words,
    communication_words,
    compile_words,
    correctness_words,
    fallback_words,
)
from ciwm.report.text_table import show_table

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records import WorkloadMap
    from ciwm.records.opmap_correctness import OperatorCheck
    from ciwm.records.opmap_fallback import WorkloadFallbacks

SHOWN = 20


def show_device(found: WorkloadMap, console: Console) -> None:
    """Print every part that was observed; nothing for those that were not."""
    _list("Fallbacks", [fallback_words(one) for one in found.fallbacks], console)
    for one in found.fallbacks:
        _fallbacks(one, console)
    if found.correctness is not None:
        _list("Correctness", correctness_words(found.correctness), console)
        _list("Not right", [check_words(one) for one in _failing(found)[:SHOWN]], console)
    if found.communication is not None:
        _list("Communication", communication_words(found.communication), console)
    paths = [line for one in found.compile_paths for line in compile_words(one)]
    _list("Compile paths", paths, console)


def _fallbacks(one: WorkloadFallbacks, console: Console) -> None:
    rows = [
        (op.op, f"{op.calls:g}", f"{op.time_share_pct:.3g} %", ", ".join(op.overloads))
        for op in one.ops[:SHOWN]
    ]
    if rows:
        headers = ("operator", "calls", "of the step", "overloads")
        show_table(f"On the CPU in {one.workload}", headers, rows, console)
    _list(
        f"Suspected copies to the host in {one.workload}",
        [f"{copy.op}: {copy.calls:g} a step ({copy.what})" for copy in one.hidden],
        console,
    )
    rows = [
        (use.library, f"{use.calls:g}", ", ".join(use.kernels[:3]), use.evidence)
        for use in one.libraries
    ]
    if rows:
        headers = ("library", "calls", "by", "evidence")
        show_table(f"Reused in {one.workload}", headers, rows, console)


def _failing(found: WorkloadMap) -> list[OperatorCheck]:
    if found.correctness is None:
        return []
    sweep = found.correctness.sweep
    checks = list(sweep.checks) if sweep else []
    checks += [check for one in found.correctness.workloads for check in one.checks]
    return [check for check in checks if check.verdict in FAILED]


def device_markdown(found: WorkloadMap) -> str:
    """The same for a pull request; empty where no stage ran on a device."""
    lines = [fallback_words(one) for one in found.fallbacks]
    lines += correctness_words(found.correctness) if found.correctness else []
    parts = ["\n".join(f"- {words(line, 400)}" for line in lines)]
    failing = _failing(found)
    if failing:
        rows = [
            [
                words(one.verdict),
                name(one.operator),
                words(f"{one.dtype} {one.direction}"),
                words(one.detail, 160),
            ]
            for one in failing[:SHOWN]
        ]
        shown = table(["verdict", "operator", "in", "detail"], rows)
        parts.append(folded(f"Not right: {plural(len(failing), 'check')}", shown))
    more = communication_words(found.communication) if found.communication else []
    more += [line for one in found.compile_paths for line in compile_words(one)]
    if more:
        told = "\n".join(f"- {words(line, 300)}" for line in more)
        parts.append(folded("Collectives and compile paths", told))
    return "\n\n".join(part for part in parts if part)


def _list(title: str, lines: list[str], console: Console) -> None:
    if not lines:
        return
    console.print()
    console.print(Text(visible(title), style="bold"))
    for line in lines:
        text = visible(f"- {line}")
        console.print(text, markup=False, highlight=False, soft_wrap=True, emoji=False)
