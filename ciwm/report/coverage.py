"""Test coverage in the comment: one sentence, and folded the changed lines that no test reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import Detail, folded, more, name, words
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from ciwm.records import BumpReport
    from ciwm.records.coverage import Coverage, UncoveredLines

_RANGES = 30
_MINUS = "\N{MINUS SIGN}"


def coverage_part(report: BumpReport, detail: Detail) -> str:
    """The delta, what is uncovered of the change, and what could not be read; else empty."""
    every = (report.coverage,) if report.coverage is not None else report.coverage_by_shard
    if not every:
        return ""
    shown = every[: detail.rows]
    told = "\n\n".join(_one(each, detail) for each in shown)
    return f"#### Test coverage\n\n{told}{more(len(shown), len(every), 'shards')}"


def _one(coverage: Coverage, detail: Detail) -> str:
    label = f"{name(coverage.shard)}:" if coverage.shard else ""
    told = [
        " ".join(part for part in (label, _total(coverage), _changed(coverage)) if part),
        "\n".join(f"- ⚠️ {words(problem)}" for problem in coverage.problems[:4]),
        _uncovered(coverage, detail),
    ]
    return "\n\n".join(part for part in told if part)


def _total(coverage: Coverage) -> str:
    head, base = coverage.head, coverage.base
    if head is None or head.pct is None:
        return ""
    told = f"Tests reach {head.pct:.1f}% of {plural(head.lines, 'line')}"
    if base is None or base.pct is None:
        return f"{told} (base: unknown)."
    points = head.pct - base.pct
    signed = f"{points:+.1f}".replace("-", _MINUS)
    if signed.strip("+" + _MINUS) == "0.0":
        return f"{told}, as at base."
    return f"{told}, **{signed} points** against base ({base.pct:.1f}%)."


def _changed(coverage: Coverage) -> str:
    if coverage.head is None:
        return ""
    if not coverage.changed:
        return "Of the changed lines none is one that tests could reach."
    missed = coverage.changed - coverage.changed_covered
    lines = plural(coverage.changed, "changed line")
    if not missed:
        return f"Of {lines} that tests could reach, they reach all."
    return (
        f"**{missed:,} of {lines}** that tests could reach {'is' if missed == 1 else 'are'} not "
        "tested (does not block)."
    )


def _uncovered(coverage: Coverage, detail: Detail) -> str:
    found = coverage.uncovered
    if not found or not detail.items:
        return ""
    shown = found[: min(detail.items, 50)]
    listed = "\n".join(f"- {name(one.path)}: {_lines(one)}" for one in shown)
    count = plural(sum(one.count for one in found), "changed line")
    summary = f"{count} without a test, in {plural(len(found), 'file')}"
    return folded(summary, listed + more(len(shown), len(found), "files"))


def _lines(one: UncoveredLines) -> str:
    ranges = [
        f"{first}" if first == last else f"{first}–{last}" for first, last in one.ranges[:_RANGES]
    ]
    rest = len(one.ranges) - len(ranges)
    return ", ".join(ranges) + (f" and {rest} more" if rest > 0 else "")
