"""A map's operators as CSV: one line for each use, for a spreadsheet."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from ciwm.report.map_words import pattern_words

if TYPE_CHECKING:
    from ciwm.records import WorkloadMap

COLUMNS = (
    "workload",
    "op",
    "part",
    "calls",
    "structural",
    "support",
    "level",
    "evidence",
    "has_decomposition",
    "has_meta",
    "queue_step",
    "modules",
    "tensors",
    "communication",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run what begins so


def map_csv(found: WorkloadMap) -> str:
    """The lines, sorted by workload and calls, with a header."""
    served = {one.op: one for one in (*found.kernel_supports, *found.supports)}
    queued = {kernel.op: entry.order for entry in found.queue for kernel in entry.kernels}
    patterns = {one.id: pattern_words(one.communication) for one in found.workloads}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for use in sorted(found.ops, key=lambda one: (one.workload, -one.count, one.op, one.part)):
        support = served.get(use.op)
        spec = " ".join(use.specs[0].tensors) if use.specs else ""
        row = (
            use.workload,
            use.op,
            use.part,
            use.count,
            "yes" if use.structural else "no",
            support.support if support else "",
            support.level if support else "",
            support.evidence if support else "",
            _yes_no(support.has_decomposition if support else None),
            _yes_no(support.has_meta if support else None),
            queued.get(use.op, ""),
            " ".join(use.modules),
            spec,
            patterns.get(use.workload, ""),
        )
        writer.writerow([_harmless(cell) for cell in row])
    return out.getvalue()


def _yes_no(value: bool | None) -> str:  # noqa: FBT001  one value, turned to words
    return "" if value is None else "yes" if value else "no"


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
