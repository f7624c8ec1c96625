"""A bump on a terminal or in a CI log: the same story as the comment, the answer last.

A terminal is read from its end, so the answer and the next step close the output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.error_line import error_line
from ciwm.report.asides import not_blocking
from ciwm.report.bump_answer import answer, next_steps, stopped_stages
from ciwm.report.bump_parts import sided_builds
from ciwm.report.detail import clipped
from ciwm.report.escape import visible
from ciwm.report.figures import duration
from ciwm.report.map_text import show_diff
from ciwm.report.sync_words import answer as sync_answer
from ciwm.report.verdict_text import show_verdict

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records import BuildRecord, BumpReport

_STYLES = {"failure": "bold red", "neutral": "bold yellow", "success": "bold green"}
_LOG_LINES = 20
_LINE_LIMIT = 500


def show_bump(report: BumpReport, console: Console) -> None:
    """Print sync cost, builds, benchmarks, what stopped, and last the answer and the next step."""
    if report.sync is not None:
        _heading("Sync", console)
        _say(sync_answer(report.sync), console)
    if report.builds:
        _heading("Builds", console)
        for side, build in sided_builds(report):
            _show_build(side, build, console)
    if report.verdict is not None:
        _heading("Benchmarks", console)
        show_verdict(report.verdict, console)
    if report.map_diff is not None:
        _heading("Workload map", console)
        show_diff(report.map_diff, console)
    if stopped_stages(report):
        _heading("Stopped", console)
        _show_stopped(report, console)
    console.print()
    _say(answer(report), console, style=_STYLES[report.conclusion])
    if aside := not_blocking(report):
        _say(f"Not blocking: {aside}", console)
    steps = next_steps(report)
    if len(steps) == 1:
        _say(f"Next: {steps[0]}", console)
        return
    _say("Next:", console)
    for step in steps:
        _say(f"  - {step}", console)


def _heading(title: str, console: Console) -> None:
    console.print()
    console.print(title, style="bold", highlight=False)


def _say(text: str, console: Console, style: str = "") -> None:
    """One line, however long; what a repository says is shown and never obeyed."""
    console.print(
        visible(clipped(text, _LINE_LIMIT)),
        style=style,
        markup=False,
        highlight=False,
        soft_wrap=True,
        emoji=False,
    )


def _show_build(side: str, build: BuildRecord, console: Console) -> None:
    told = f"{side} {build.revision.ref} ({build.revision.sha[:12]}): {build.status}"
    _say(f"{told}, {duration(build.duration_s)}", console)
    if not build.ok:
        if build.status == "failed":
            _say(f"  why: {error_line(build.log_tail) or 'its log is empty'}", console)
        for line in build.log_tail[-_LOG_LINES:]:
            _say(f"  | {line}", console)
        _say(f"  all of its log: {build.log}", console)


def _show_stopped(report: BumpReport, console: Console) -> None:
    for stage in stopped_stages(report):
        ended = "was interrupted" if stage.status == "interrupted" else "failed"
        _say(f"{stage.name} {ended}: {stage.message or 'it left no message'}", console)
        if stage.hint:
            _say(f"  mend: {stage.hint}", console)
