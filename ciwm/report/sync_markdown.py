"""The sync report as a section of its own: one sentence, the figures, details folded away.

The record may come from a stranger's pull request, so that every word of it is escaped and the
section's length has a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import Detail, longest, name, table
from ciwm.report.sync_details import sync_details
from ciwm.report.sync_gate import gate_section, rating_section
from ciwm.report.sync_shape import shape_section
from ciwm.report.sync_words import answer, facts

if TYPE_CHECKING:
    from ciwm.records.sync import SyncReport

LONGEST = 30_000  # bytes; a comment holds 65,536 characters, and there are other sections
_RUNGS = (
    Detail(rows=0, items=40, hunks=6_000, log_lines=0),
    Detail(rows=0, items=15, hunks=0, log_lines=0),
    Detail(rows=0, items=0, hunks=0, log_lines=0),
)


def sync_section(report: SyncReport) -> str:
    """The section, at most LONGEST bytes, ending in a newline."""
    section = longest(
        lambda detail: _section(report, sync_details(report, detail)), _RUNGS, LONGEST
    )
    return section or _section(report, "")


def _section(report: SyncReport, details: str) -> str:
    parts = (
        "### Upstream sync",
        f"**{answer(report, name)}**",
        gate_section(report),
        rating_section(report),
        shape_section(report.shape),
        table(("What", "Figure"), facts(report, name)),
        details,
    )
    return "\n\n".join(part for part in parts if part) + "\n"
