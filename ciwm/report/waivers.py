"""Regressions that are accepted: the waivers in force, and the text of a new one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ciwm.policy.new_waivers import can_be_waived, ceiling_for
from ciwm.report.bump_parts import safe_url
from ciwm.report.changes import as_decided
from ciwm.report.detail import Detail, clipped, folded, more, name, words
from ciwm.report.escape import fenced
from ciwm.report.figures import harm
from ciwm.waivers import DAYS, FILE_NAME, Waiver, as_toml

if TYPE_CHECKING:
    from datetime import date

    from ciwm.records import BumpReport, SeriesVerdict, Waived

_SUGGESTED = 3  # texts of new waivers; more are a reason to look for one cause
_NAME = 200


def waivers_part(report: BumpReport, detail: Detail) -> str:
    """The waivers that hold, and, folded, the text that would accept each regression."""
    if report.verdict is None:
        return ""
    held = [row for row in report.verdict.series if row.waiver is not None]
    lines = "\n".join(_held(row, row.waiver) for row in held[: detail.rows] if row.waiver)
    parts = [
        _closing(report, detail),
        f"#### Waived\n\n{lines}{more(detail.rows, len(held), 'waivers')}" if held else "",
        _how_to(report) if detail.items else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _closing(report: BumpReport, detail: Detail) -> str:
    """The waivers that should go, and why."""
    shown = report.closing[: detail.rows]
    listed = "\n".join(
        f"- {name(one.series)} {words(one.metric, 60)}: {words(one.why, 200)}" for one in shown
    )
    told = f"#### Waivers to close\n\n{listed}{more(len(shown), len(report.closing), 'waivers')}"
    return told if listed else ""


def _held(row: SeriesVerdict, waiver: Waived) -> str:
    issue = safe_url(waiver.issue)
    link = f"[its issue]({issue})" if issue else words(waiver.issue, 120)
    return (
        f"- {name(row.series)} {words(row.metric, 60)}: up to {_ceiling(row, waiver)} until "
        f"{waiver.expires:%Y-%m-%d}, by {words(waiver.author, 60)}: {words(waiver.reason, 200)} "
        f"({link})"
    )


def _ceiling(row: SeriesVerdict, waiver: Waived) -> str:
    if waiver.ceiling_abs is not None:
        return f"{waiver.ceiling_abs:g} {words(row.unit, 20)}"
    return f"{waiver.ceiling_pct:g}%"


def _how_to(report: BumpReport) -> str:
    rows = _waivable(report)[:_SUGGESTED]
    if not rows:
        return ""
    texts = "\n".join(_text(row, report.generated_at.date()) for row in rows)
    told = (
        f"Where the price is worth it, merge this into {name(FILE_NAME)} of the base branch, by a "
        "change of its own; it counts from then on, up to the ceiling and until the day. "
        f"`ciwm waive` writes it; where ciwm answers comments, `/ciwm waive "
        "SERIES REASON` does, from somebody with write access."
    )
    return folded("How to accept this regression for a while", told, fenced(texts, "toml"))


def _waivable(report: BumpReport) -> list[SeriesVerdict]:
    """The regressed series, the largest change for the worse first, by the metric they are of."""
    rows = report.verdict.series if report.verdict else ()
    slower = [row for row in rows if can_be_waived(row)]
    return sorted(slower, key=lambda row: harm(as_decided(row)), reverse=True)


def _text(row: SeriesVerdict, today: date) -> str:
    """A waiver with its gaps."""
    return as_toml(
        Waiver(
            series=clipped(row.series, _NAME),
            metric=clipped(row.metric, _NAME),
            reason="why it is worth it",
            author="who says so",
            issue="https://… where it is followed up",
            expires=today + timedelta(days=DAYS),
            **ceiling_for(row),
        )
    )
