"""Past syncs, the forecast and pull requests in the report for a bot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.agent_parts import part, quoted
from ciwm.report.detail import Detail, more, name
from ciwm.report.sync_history_words import (
    HORIZON_TITLES,
    forecast_sentences,
    history_sentences,
    horizon_rows,
)
from ciwm.report.sync_pulls import counts, rows, sentence

if TYPE_CHECKING:
    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_pulls import IncomingPull

FILES = 10
_DAYS = ("within 7 days", "30 days", "90 days")


def history_part(report: SyncReport) -> str:
    """What past syncs took, and what the next ones can be expected to take."""
    if report.sync_history is None:
        return ""
    lines = [f"- {quoted(line)}" for line in history_sentences(report.sync_history)]
    forecast = report.forecast
    if forecast is not None:
        titles = HORIZON_TITLES[1:]
        for when, *figures in horizon_rows(forecast):
            told = ", ".join(
                f"{title.lower()} {cell}" for title, cell in zip(titles, figures, strict=True)
            )
            lines.append(f"- merging {when}: {told}")
        lines += [f"- {quoted(line)}" for line in forecast_sentences(forecast)]
    return part("Past syncs, and what the next will take", lines)


def pulls_part(report: SyncReport, detail: Detail) -> str:
    """How our pull requests fare upstream, the open ones with their addresses."""
    pulls = report.pulls
    if pulls is None:
        return ""
    lines = [f"- {quoted(counts(pulls))}"] if pulls.open is not None else []
    if pulls.merged_within is not None:
        lines.append(f"- {quoted(sentence(pulls))}")
        for what, *cells in rows(pulls):
            told = ", ".join(f"{cell} {days}" for cell, days in zip(cells, _DAYS, strict=True))
            lines.append(f"- {what}: {told}")
    shown = pulls.waiting[: detail.items]
    lines += [f"- open: #{each.number} {quoted(each.title)}, {name(each.url)}" for each in shown]
    left = more(len(shown), pulls.open or 0, "open ones").strip() if shown else ""
    notes = [f"- {quoted(note)}" for note in pulls.notes]
    return part("Our pull requests upstream", [*lines, left, *notes])


def incoming_part(report: SyncReport, detail: Detail) -> str:
    """Upstream changes in range that touch what is carried or used, most shared lines first."""
    pulls = report.pulls
    if pulls is None or not pulls.incoming:
        return ""
    shown = pulls.incoming[: detail.items]
    left = more(len(shown), pulls.incoming_count or len(shown), "changes").strip()
    return part("Incoming upstream changes in what we carry or use", [*map(_incoming, shown), left])


def _incoming(change: IncomingPull) -> str:
    which = f"PR #{change.number} " if change.number else ""
    meets = f"; changes {change.overlap_lines:,} lines of ours" if change.overlap_lines else ""
    page = f"; {name(change.url)}" if change.url else ""
    files = ", ".join(name(path) for path in change.files[:FILES])
    others = change.files_count - min(FILES, len(change.files))
    rest = f" and {others:,} more files" if others > 0 else ""
    return f"- {which}{name(change.sha)} {quoted(change.subject)}: {files}{rest}{meets}{page}"
