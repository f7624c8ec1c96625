"""Tables of several devices: bandwidths, scaling efficiency, load imbalance, communication."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.report.detail import folded, table, words
from ciwm.report.figures import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ciwm.records.ranks import CollectiveFigure, CommunicationShare, Pair, RankFigures
    from ciwm.report.detail import Detail

NOTHING = "-"
ROWS = 60  # of each table


class RankTable(NamedTuple):
    """One table: what it is, its columns, its rows, and what its figures mean."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


def rank_tables(figures: RankFigures | None) -> list[RankTable]:
    """The tables that have rows, each at most ROWS long."""
    if figures is None:
        return []
    tables = [
        _collectives(figures),
        _scaling(figures),
        _imbalance(figures),
        _communication(figures),
    ]
    return [_cut(table) for table in tables if table.rows]


def rank_text(figures: RankFigures | None) -> Iterator[str]:
    """The tables for a terminal or a log."""
    return map(table_text, rank_tables(figures))


def table_text(one: RankTable) -> str:
    """One table for a terminal or a log."""
    from tabulate import tabulate  # noqa: PLC0415  only where it is used

    body = tabulate(one.rows, headers=one.headings, tablefmt="simple", disable_numparse=True)
    return f"\n{one.title} ({one.note})\n{body}\n"


def rank_markdown(figures: RankFigures | None, detail: Detail) -> str:
    """The tables folded under one line, or that line alone where there is no room."""
    tables = rank_tables(figures)
    if not tables:
        return ""
    summary = "Several devices: " + ", ".join(one.title.lower() for one in tables)
    if not detail.items:
        return f"{summary}."
    return folded(summary, *(part for one in tables for part in table_markdown(one)))


def table_markdown(one: RankTable) -> tuple[str, str]:
    """One table's title with its note, and the table."""
    rows = [(words(first), *map(words, rest)) for first, *rest in one.rows]
    return f"**{one.title}** ({words(one.note)})", table(one.headings, rows)


def _cut(table: RankTable) -> RankTable:
    left = len(table.rows) - ROWS
    if left <= 0:
        return table
    blank = ("",) * (len(table.headings) - 1)
    return table._replace(rows=(*table.rows[:ROWS], (f"... and {left} more", *blank)))


def _collectives(figures: RankFigures) -> RankTable:
    peaks = sorted({one.peak_source for one in figures.collectives if one.peak_source})
    note = "by the slowest rank's time; 1 GB is 1e9 bytes" + "".join(
        f"; peak: {source}" for source in peaks
    )
    rows = tuple(
        (
            one.series,
            f"{one.size_bytes:,} B",
            *_both(one.algbw_gb_s, "GB/s"),
            *_both(one.busbw_gb_s, "GB/s"),
            *_of_peak(one),
        )
        for one in figures.collectives
    )
    sides = ("algbw base", "algbw head", "busbw base", "busbw head")
    return RankTable("Bandwidths", ("collective", "size", *sides, "of peak"), rows, note)


def _of_peak(one: CollectiveFigure) -> tuple[str]:
    """The share of the peak that both sides reach, where a peak is known."""
    if one.peak_gb_s is None:
        return (NOTHING,)
    shares = (_percent(v, one.peak_gb_s) for v in (one.busbw_gb_s.base, one.busbw_gb_s.head))
    return (f"{' / '.join(shares)} of {quantity(one.peak_gb_s, 'GB/s')}",)


def _scaling(figures: RankFigures) -> RankTable:
    rows = tuple(
        (
            f"{one.group} ({one.kind})",
            one.series,
            f"{one.reference_ranks} to {one.ranks}",
            _percent(one.efficiency.base),
            _percent(one.efficiency.head),
        )
        for one in figures.scaling
    )
    headings = ("scaling", "series", "ranks", "base", "head")
    note = "strong: T n / (T' n'); weak: T / T'; of a rate: X' n / (X n')"
    return RankTable("Scaling efficiency", headings, rows, note)


def _imbalance(figures: RankFigures) -> RankTable:
    rows = tuple(
        (one.series, str(one.ranks), *_both(one.imbalance_pct, "%")) for one in figures.imbalance
    )
    note = "slowest rank over the mean of all, less one; P50 of steps"
    return RankTable("Load imbalance", ("series", "ranks", "base", "head"), rows, note)


def _communication(figures: RankFigures) -> RankTable:
    return communication_table("side", ((one.side, one) for one in figures.communication))


def communication_table(whose: str, shares: Iterable[tuple[str, CommunicationShare]]) -> RankTable:
    """A row for each that has a share; it is that of one launch, whose figures nobody judges."""
    rows = tuple((one.series, who, *_shares(one)) for who, one in shares)
    headings = ("series", whose, "exposed", "in all", "slowest rank", "most of any rank")
    note = (
        "percent of that rank's profiled step in which a collective is under way, exposed: and "
        "nothing is computed; the slowest rank works longest by itself, others wait for it"
    )
    return _cut(RankTable("Communication", headings, rows, note))


def _shares(one: CommunicationShare) -> tuple[str, ...]:
    if one.slowest_rank is None:
        return (f"not measured: {one.problem}", NOTHING, NOTHING, NOTHING)
    most = f"{_percent(one.most_exposed_pct, 100)} exposed, {_percent(one.most_total_pct, 100)}"
    return (
        _percent(one.exposed_pct, 100),
        _percent(one.total_pct, 100),
        f"rank {one.slowest_rank} ({one.ranks} ranks)",
        most,
    )


def _both(pair: Pair, unit: str) -> tuple[str, str]:
    base, head = (NOTHING if v is None else quantity(v, unit) for v in (pair.base, pair.head))
    return base, head


def _percent(value: float | None, whole: float = 1.0) -> str:
    return NOTHING if value is None else f"{100 * value / whole:.1f} %"
