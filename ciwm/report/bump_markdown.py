"""A bump's story as Markdown: the pull request comment and the step summary.

The comment gets shorter rung by rung until it fits; its first lines, the answer, what does not
block and the next steps, are on every rung.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.asides import not_blocking
from ciwm.report.bump_answer import answer, next_steps
from ciwm.report.bump_parts import broken_builds, details_part, link, stages_part
from ciwm.report.bump_sync import sync_part
from ciwm.report.coverage import coverage_part
from ciwm.report.detail import FULL, RUNGS, Detail, longest, words
from ciwm.report.map_markdown import diff_section
from ciwm.report.series_table import benchmarks_section
from ciwm.report.spark import trends_of
from ciwm.report.trust import trust_part
from ciwm.report.waivers import waivers_part

if TYPE_CHECKING:
    from ciwm.records import BumpReport

COMMENT_LIMIT = 65_000  # GitHub refuses a comment of more than 65,536 characters
SUMMARY_LIMIT = 1_000_000  # and cuts off a step summary of more than 1 MiB


def comment_markdown(report: BumpReport, limit: int = COMMENT_LIMIT) -> str:
    """The comment: the longest rung that takes at most `limit` bytes of UTF-8."""
    return _fitted(report, RUNGS, limit)


def summary_markdown(report: BumpReport) -> str:
    """The step summary: everything, as far as it goes into 1 MiB."""
    return _fitted(report, (FULL, *RUNGS), SUMMARY_LIMIT)


def _fitted(report: BumpReport, rungs: tuple[Detail, ...], limit_bytes: int) -> str:
    text = longest(lambda detail: _whole(report, detail), rungs, limit_bytes)
    if text is not None:
        return text
    for text in (_shortest(report), _refusal(report)):
        if len(text.encode()) <= limit_bytes:
            return text
    return "ciwm: this report is too long to show."[:limit_bytes]


def _whole(report: BumpReport, detail: Detail) -> str:
    parts = (
        *_opening(report),
        trust_part(report),
        broken_builds(report, detail),
        _benchmarks(report, detail),
        waivers_part(report, detail),
        coverage_part(report, detail),
        diff_section(report.map_diff, detail) if report.map_diff else "",
        stages_part(report),
        sync_part(report.sync, report.sync_base, detail) if report.sync else "",
        details_part(report),
        f"_Shortened: {detail.dropped} did not fit into one comment._" if detail.dropped else "",
        link(report),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _benchmarks(report: BumpReport, detail: Detail) -> str:
    if report.verdict is None:
        return ""
    built = all(build.ok for build in report.builds)
    return benchmarks_section(report.verdict, detail, built=built, trends=trends_of(report))


def _opening(report: BumpReport) -> tuple[str, ...]:
    aside = not_blocking(report)
    return (
        f"### {words(answer(report))}",
        f"**Not blocking:** {words(aside)}" if aside else "",
        _next(report),
    )


def _next(report: BumpReport) -> str:
    steps = [words(step, 600) for step in next_steps(report)]
    if len(steps) == 1:
        return f"**Next:** {steps[0]}"
    return "\n".join(["**Next:**", "", *(f"- {step}" for step in steps)])


def _shortest(report: BumpReport) -> str:
    told = "_The report is too long for one comment: the run has all of it._"
    parts = (*_opening(report), trust_part(report), told, link(report))
    return "\n\n".join(part for part in parts if part) + "\n"


def _refusal(report: BumpReport) -> str:
    return f"### ciwm: {report.conclusion}\n\n{link(report)}\n"
