"""Benchmarks as a Markdown table, the worst first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ciwm.records import SEVERITY
from ciwm.report.changes import as_decided, interval, limit, seen
from ciwm.report.detail import Detail, folded, more, name, table, words
from ciwm.report.figures import harm, natural, plural, quantity
from ciwm.report.one_sided import needs_words
from ciwm.report.ranks import rank_markdown
from ciwm.report.spark import LEGEND, bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import SeriesVerdict, Verdict
    from ciwm.records.verdict import SeriesOutcome
    from ciwm.report.spark import Trends

MARKS: dict[SeriesOutcome, str] = {
    "failed": "❌ failed",
    "missing": "❌ missing",
    "regressed": "❌ regressed",
    "void": "⚠️ void",
    "inconclusive": "⚠️ inconclusive",
    "waived": "⚠️ waived",
    "new": "🆕 new",
    "unchanged": "✅ unchanged",
    "improved": "✅ improved",
}
QUIET: frozenset[SeriesOutcome] = frozenset({"unchanged", "improved", "new"})
_MEANINGS: dict[SeriesOutcome, str] = {
    "missing": "Missing: head gave no value of a benchmark that is declared or that base has. "
    "Blocks, unless [gate] block_on leaves it out.",
    "void": "Void: conditions changed while it was measured, so that the figures say nothing; "
    "measure again. Does not block, unless [gate] on_void says so.",
    "inconclusive": "Inconclusive: too noisy to tell whether it is slower than the limit. "
    "Does not block, unless [gate] on_inconclusive says so.",
    "waived": "Waived: worse than the limit, and accepted until a day. Does not block.",
}
_REASON_LIMIT = 160
_PROBLEMS = 5
_NO_BREAK = "\N{NO-BREAK SPACE}"


def by_severity(verdict: Verdict) -> list[SeriesVerdict]:
    """All series: worst outcome first, within one the largest change for the worse first."""
    rows = [as_decided(row) for row in verdict.series]
    return sorted(
        rows, key=lambda row: (SEVERITY.index(row.outcome), -harm(row), natural(row.series))
    )


def benchmarks_section(
    verdict: Verdict, detail: Detail, *, built: bool = True, trends: Trends | None = None
) -> str:
    """What needs a look in an open table, the rest folded; empty when nothing was compared.

    Where a side was not `built`, that is the news, and all benchmarks are folded.
    """
    rows = by_severity(verdict)
    loud = [row for row in rows if built and row.outcome not in QUIET]
    opened, hidden = _worst(loud, detail.rows)
    quiet = [row for row in rows if not built or row.outcome in QUIET]
    parts = [
        f"#### Benchmarks\n\n{_table(opened, trends)}" if opened else "",
        _shared_reasons(loud, hidden),
        _meanings(loud),
        _folded("more", hidden, detail, trends, " that need attention"),
        _folded("other" if loud else "", quiet, detail, trends),
        rank_markdown(verdict.devices, detail),
        _problems(verdict),
    ]
    return "\n\n".join(part for part in parts if part)


def _worst(
    rows: Sequence[SeriesVerdict], limit: int
) -> tuple[list[SeriesVerdict], list[SeriesVerdict]]:
    """At most so many rows, the worst of every outcome so that none hides another; and the rest."""
    places: dict[SeriesOutcome, int] = {}
    ranks = []
    for number, row in enumerate(rows):
        places[row.outcome] = places.get(row.outcome, 0) + 1
        ranks.append((places[row.outcome], number))
    kept = {number for _, number in sorted(ranks)[:limit]}
    opened = [row for number, row in enumerate(rows) if number in kept]
    return opened, [row for number, row in enumerate(rows) if number not in kept]


def _shared_reasons(rows: Sequence[SeriesVerdict], hidden: Sequence[SeriesVerdict]) -> str:
    """Why benchmarks failed, each reason once with its count, where not all of their rows show."""
    if not _count(hidden, "failed"):
        return ""
    reasons = Counter(_reason(row) for row in rows if row.outcome == "failed")
    told = [f"- {count} failed: {why}" for why, count in reasons.most_common(_PROBLEMS)]
    return "\n".join(told) + more(len(told), len(reasons), "reasons")


def _reason(row: SeriesVerdict) -> str:
    return words(row.reason.removeprefix(f"{row.series} {row.metric}: "), _REASON_LIMIT)


def _meanings(rows: Sequence[SeriesVerdict]) -> str:
    """What the result words say that do not explain themselves, those that are there."""
    told = [text for outcome, text in _MEANINGS.items() if _count(rows, outcome)]
    return f"<sub>{'<br>'.join(told)}</sub>" if told else ""


def _folded(
    which: str,
    rows: Sequence[SeriesVerdict],
    detail: Detail,
    trends: Trends | None,
    ending: str = "",
) -> str:
    """The rows folded under a count by outcome; only the count where there is no room for them."""
    if not rows:
        return ""
    order = SEVERITY if ending else tuple(reversed(SEVERITY))  # the news first
    outcomes = [outcome for outcome in order if _count(rows, outcome)]
    told = ", ".join(f"{_count(rows, outcome)} {outcome}" for outcome in outcomes)
    summary = f"{plural(len(rows), f'{which} benchmark'.strip())}{ending}: {told}"
    if not detail.items:
        return f"{summary}."
    shown = rows[: detail.items]
    return folded(summary, _table(shown, trends) + more(len(shown), len(rows), "rows"))


def _count(rows: Sequence[SeriesVerdict], outcome: SeriesOutcome) -> int:
    return sum(row.outcome == outcome for row in rows)


def _problems(verdict: Verdict) -> str:
    shown = verdict.problems[:_PROBLEMS]
    listed = "\n".join(f"- ⚠️ {words(text)}" for text in shown)
    return listed + more(len(shown), len(verdict.problems), "remarks")


def _table(rows: Sequence[SeriesVerdict], trends: Trends | None) -> str:
    """The table, and below it what its bars are where it has any."""
    headers = ("Benchmark", "Result", ">Base", ">Head", "Change (95% interval)", ">Limit")
    drawn = [_bars(row, trends) for row in rows]
    cells = [_cells(row, bar) for row, bar in zip(rows, drawn, strict=True)]
    return table(headers, cells) + (f"\n\n<sub>{LEGEND}</sub>" if any(drawn) else "")


def _bars(row: SeriesVerdict, trends: Trends | None) -> str:
    return bars(row, (trends or {}).get((row.series, row.metric), ()))


def _cells(row: SeriesVerdict, drawn: str) -> tuple[str, ...]:
    return (
        f"{name(row.series)} {words(row.metric, 60)}",
        MARKS[row.outcome].replace(" ", _NO_BREAK),
        _value(row.base_value, row.unit),
        _value(row.head_value, row.unit),
        _change(row) + (f"<br>{drawn}" if drawn else ""),
        limit(row) if row.threshold_abs is None else words(limit(row)),
    )


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    return quantity(value, words(unit, 20)).replace(" ", _NO_BREAK)


def _change(row: SeriesVerdict) -> str:
    """The change with its interval; where figures do not decide, the reason beside it."""
    reason = _reason(row)
    figure, ends = seen(row), interval(row, " … ")
    if not figure:
        return reason
    if row.ratio is None:  # then a unit, which is anybody's words, is in it
        figure, ends = words(figure), words(ends)
    strong = figure if row.outcome == "void" else f"**{figure}**"  # a void figure is no finding
    text = strong + (f" ({ends})" if ends else "")
    plain = row.outcome in QUIET | {"regressed"} and not needs_words(row)
    return text if plain else f"{text}<br>{reason}"
