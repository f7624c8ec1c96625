"""What a reader should know that does not block the merge: the comment's second line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import INTERRUPTED
from ciwm.report.figures import plural
from ciwm.report.headline import blocks, coverage_words, doubtful_rows
from ciwm.report.sync_cost import brought_in, forecast

if TYPE_CHECKING:
    from ciwm.records import BumpReport

_DATA_BRANCH = "ciwm-data"


def not_blocking(report: BumpReport) -> str:
    """What does not block and is not in the headline, in one line of plain text; may be empty."""
    blocked = blocks(report.stages, report.builds, report.verdict, report.map_diff)
    if blocked and report.exit_code != INTERRUPTED:
        told = [_unclear(report), _mapped(report), brought_in(report.sync, report.sync_base)]
    else:
        told = []
    told += [*report.warnings, _not_kept(report), forecast(report.sync, report.sync_base)]
    return "; ".join(f"{part[0].lower()}{part[1:]}" for part in told if part)


def _unclear(report: BumpReport) -> str:
    if report.verdict is None or not all(build.ok for build in report.builds):
        return ""
    rows = doubtful_rows(report.verdict)
    return f"{plural(len(rows), 'benchmark')} gave no clear answer" if rows else ""


def _mapped(report: BumpReport) -> str:
    """What the map says where something else blocks."""
    return (
        "" if report.map_diff is None or report.map_diff.blocks else coverage_words(report.map_diff)
    )


def _not_kept(report: BumpReport) -> str:
    for stage in report.stages:
        if stage.name == "store" and stage.status == "failed":
            where = f" to the branch {_DATA_BRANCH}" if _DATA_BRANCH in stage.message else ""
            return f"saving results{where} failed"
    return ""
