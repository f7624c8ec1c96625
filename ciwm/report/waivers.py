"""Regressions that are accepted: the waivers in force, and the text of a new one."""

from __future__ import annotations

import json
from datetime import timedelta
from math import ceil, inf
from typing import TYPE_CHECKING

from ciwm.report.bump_parts import safe_url
from ciwm.report.detail import Detail, clipped, folded, more, name, words
from ciwm.report.escape import fenced
from ciwm.report.headline import rows_of

if TYPE_CHECKING:
    from datetime import date

    from ciwm.records import BumpReport, SeriesVerdict, Waived

FILE = "ciwm-waivers.toml"
_SUGGESTED = 3  # texts of new waivers; more are a reason to look for one cause
_DAYS = 60
_NAME = 200


def waivers_part(report: BumpReport, detail: Detail) -> str:
    """The waivers that hold, and, folded, the text that would accept each regression."""
    if report.verdict is None:
        return ""
    held = [row for row in report.verdict.series if row.waiver is not None]
    lines = "\n".join(_held(row, row.waiver) for row in held[: detail.rows] if row.waiver)
    parts = [
        f"#### Waived\n\n{lines}{more(detail.rows, len(held), 'waivers')}" if held else "",
        _how_to(report) if detail.items else "",
    ]
    return "\n\n".join(part for part in parts if part)


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
    found = rows_of(report.verdict, "regressed") if report.verdict else []
    rows = [row for row in found if (row.head_value or 0) <= (row.value_limit or inf)]
    texts = [_text(row, report.generated_at.date()) for row in rows[:_SUGGESTED]]
    if not texts:
        return ""
    told = (
        f"Where the price is worth it, merge this into {name(FILE)} of the base branch, by a "
        "change of its own; it counts from then on, up to the ceiling and until the day."
    )
    return folded(
        "How to accept this regression for a while", told, fenced("\n".join(texts), "toml")
    )


def _text(row: SeriesVerdict, today: date) -> str:
    """A waiver with its gaps; names are written as TOML and JSON both write text."""
    lines = [
        "[[waiver]]",
        f"series = {json.dumps(clipped(row.series, _NAME))}",
        f"metric = {json.dumps(clipped(row.metric, _NAME))}",
        _new_ceiling(row),
        'reason = "why it is worth it"',
        'author = "who says so"',
        'issue = "https://… where it is followed up"',
        f"expires = {today + timedelta(days=_DAYS):%Y-%m-%d}",
    ]
    return "\n".join(lines) + "\n"


def _new_ceiling(row: SeriesVerdict) -> str:
    """One percent above what was seen, or a twentieth in the unit."""
    if row.difference is not None:
        return f"ceiling_abs = {abs(row.difference) * 1.05:.4g}  # {clipped(row.unit, 20)}"
    seen = abs((row.ratio or 1.0) - 1) * 100
    return f'ceiling = "{ceil(seen + 1)}%"'
