"""Benchmarks as a Markdown table, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.records import SEVERITY
from ciwm.report.detail import Detail, folded, more, name, table, words
from ciwm.report.figures import change, harm, plural, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import SeriesVerdict, Verdict
    from ciwm.records.verdict import SeriesOutcome

MARKS: dict[SeriesOutcome, str] = {
    "failed": "❌ failed",
    "missing": "❌ missing",
    "regressed": "❌ regressed",
    "void": "⚠️ void",
    "inconclusive": "⚠️ undecided",
    "waived": "⚠️ waived",
    "new": "🆕 new",
    "unchanged": "✅ unchanged",
    "improved": "✅ improved",
}
QUIET: frozenset[SeriesOutcome] = frozenset({"unchanged", "improved", "new"})
_REASON_LIMIT = 160


def by_severity(verdict: Verdict) -> list[SeriesVerdict]:
    """All series: worst outcome first, within one the largest change for the worse first."""
    return sorted(
        verdict.series, key=lambda row: (SEVERITY.index(row.outcome), -harm(row), row.series)
    )


def benchmarks_section(verdict: Verdict, detail: Detail) -> str:
    """What needs a look in an open table, the rest folded; empty when nothing was compared."""
    rows = by_severity(verdict)
    loud = [row for row in rows if row.outcome not in QUIET]
    quiet = [row for row in rows if row.outcome in QUIET]
    parts = []
    if loud:
        shown = loud[: detail.rows]
        parts.append(f"#### Benchmarks\n\n{_table(shown)}{more(len(shown), len(loud), 'rows')}")
    if quiet and detail.items:
        shown = quiet[: detail.items]
        rest = more(len(shown), len(quiet), "rows")
        parts.append(folded(_quiet_summary(quiet, loud=bool(loud)), _table(shown) + rest))
    elif quiet:
        parts.append(_quiet_summary(quiet, loud=bool(loud)) + ".")
    if verdict.problems:
        parts.append("\n".join(f"- ⚠️ {words(text)}" for text in verdict.problems[:5]))
    return "\n\n".join(parts)


def _quiet_summary(quiet: Sequence[SeriesVerdict], *, loud: bool) -> str:
    counts = {
        outcome: sum(row.outcome == outcome for row in quiet)
        for outcome in ("improved", "unchanged", "new")
    }
    told = ", ".join(f"{number} {outcome}" for outcome, number in counts.items() if number)
    return f"{plural(len(quiet), 'other benchmark' if loud else 'benchmark')}: {told}"


def _table(rows: Sequence[SeriesVerdict]) -> str:
    headers = ("Benchmark", "Result", ">Base", ">Head", "Change (95% interval)", ">Limit")
    return table(headers, [_cells(row) for row in rows])


def _cells(row: SeriesVerdict) -> tuple[str, ...]:
    return (
        f"{name(row.series)} {words(row.metric, 60)}",
        MARKS[row.outcome],
        _value(row.base_value, row.unit),
        _value(row.head_value, row.unit),
        _change(row),
        _limit(row),
    )


def _value(value: float | None, unit: str) -> str:
    return "–" if value is None else quantity(value, words(unit, 20))


def _change(row: SeriesVerdict) -> str:
    """The change with its interval; where figures do not decide, the reason beside it."""
    reason = words(row.reason.removeprefix(f"{row.series} {row.metric}: "), _REASON_LIMIT)
    if row.ratio is None:
        return reason
    text = f"**{change(row.ratio)}**"
    if row.ci_low is not None and row.ci_high is not None:
        text += f" ({change(row.ci_low)} … {change(row.ci_high)})"
    return text if row.outcome in QUIET | {"regressed"} else f"{text}<br>{reason}"


def _limit(row: SeriesVerdict) -> str:
    sign = "+" if row.better == "lower" else "\N{MINUS SIGN}"
    return f"{sign}{row.threshold_pct:g}%"
