"""A verdict as a Markdown section of its own, for a step summary or a comment by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import METHOD_LIMIT, Detail, folded, more, words
from ciwm.report.figures import plural
from ciwm.report.series_table import benchmarks_section, by_severity

if TYPE_CHECKING:
    from ciwm.records import SeriesVerdict, Verdict

SECTION = Detail(rows=20, items=200, hunks=0, log_lines=0)
_ANSWERS = {
    "pass": "✅ **pass**",
    "fail": "❌ **fail**",
    "void": "⚠️ **void**",
    "inconclusive": "⚠️ **inconclusive**",
}


def verdict_section(verdict: Verdict) -> str:
    """The answer, what needs a look, the rest folded, and every series' sentence folded below."""
    parts = [
        f"{_ANSWERS[verdict.outcome]}: {words(verdict.reason)}",
        benchmarks_section(verdict, SECTION),
        _reasons(verdict) if verdict.series else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _reasons(verdict: Verdict) -> str:
    rows = by_severity(verdict)
    shown = rows[: SECTION.items]
    sentences = "\n".join(_sentence(row) for row in shown)
    interval = words(verdict.interval_method, METHOD_LIMIT)
    method = f"{_bound(verdict)} Interval: {interval}."
    body = f"{sentences}{more(len(shown), len(rows), 'series')}\n\n{method}"
    return folded("Each outcome in a sentence", body)


def _bound(verdict: Verdict) -> str:
    """What is promised of false alarms, by how the launches came to their order."""
    if verdict.order in ("apart", "trusted"):
        return "Measured apart: nothing bounds false alarms."
    over = f"over {plural(verdict.family_size, 'series')}"
    drawn = "" if verdict.order == "seeded" else ", if the order of launches was drawn at random"
    return f"At most {100 * verdict.alpha:g}% false alarms {over}{drawn}."


def _sentence(row: SeriesVerdict) -> str:
    said = f"- {row.outcome}: {words(row.reason)}"
    tail = row.tail
    if tail is None or not tail.gated or tail.reason == row.reason:
        return said
    return f"{said}\n  - {tail.outcome}: {words(tail.reason)}"
