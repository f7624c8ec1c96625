"""Past syncs and the forecast as a part of the comment: one line in the open, the rest folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import folded, name, table, words
from ciwm.report.figures import plural
from ciwm.report.sync_history_words import (
    HORIZON_TITLES,
    forecast_sentences,
    history_sentences,
    horizon_rows,
)

if TYPE_CHECKING:
    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_history import Forecast
    from ciwm.report.detail import Detail

_NEWEST = 10


def history_part(report: SyncReport, detail: Detail) -> str:
    """What past syncs took and what the next ones can be expected to; empty when unknown."""
    history, forecast = report.sync_history, report.forecast
    if history is None:
        return ""
    said = [words(sentence) for sentence in history_sentences(history)]
    if not detail.items:
        return said[0]
    parts = ["\n".join(f"- {sentence}" for sentence in said)]
    if forecast is not None:
        parts += _forecast(forecast)
    parts.append(_newest(report))
    return folded(_title(report), *parts)


def _title(report: SyncReport) -> str:
    """The outlook where there is one: it is what a reader has come for."""
    history, forecast = report.sync_history, report.forecast
    total = history.total if history else 0
    past = plural(total, "past sync")
    if forecast is None or len(forecast.horizons) < 2:  # noqa: PLR2004  now and later
        return f"Past syncs: {total:,}"
    now, *_, last = forecast.horizons
    return (
        f"Forecast from {past}: now about {now.lines.value:,.0f} lines by hand, "
        f"in {plural(round(last.weeks), 'week')} about {last.lines.value:,.0f}"
    )


def _forecast(forecast: Forecast) -> list[str]:
    rows = horizon_rows(forecast)
    titles = [f">{title}" if title != HORIZON_TITLES[0] else title for title in HORIZON_TITLES]
    said = "\n".join(f"- {words(sentence, 600)}" for sentence in forecast_sentences(forecast))
    return [table(titles, rows) if rows else "", said]


def _newest(report: SyncReport) -> str:
    rows = [
        (
            name(sync.merge[:12]),
            f"{sync.merged_at:%Y-%m-%d}",
            sync.kind,
            f"{sync.upstream_commits:,}",
            f"{sync.conflicted_files:,}",
            f"{sync.hand_lines:,}",
        )
        for sync in report.syncs[:_NEWEST]
    ]
    titles = ("Sync", "Date", "Kind", ">Upstream commits", ">Files", ">Lines by hand")
    return table(titles, rows) if rows else ""
