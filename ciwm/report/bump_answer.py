"""The answer a reader wants first: is the merge blocked, and what is there to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import INTERRUPTED
from ciwm.records.bump import NOT_ASKED
from ciwm.report.detail import clipped
from ciwm.report.headline import rows_of, short

if TYPE_CHECKING:
    from ciwm.records import BumpReport, Stage, Verdict
    from ciwm.records.bump import CheckConclusion

_ON_PULL_REQUEST: dict[CheckConclusion, str] = {
    "failure": "❌ Merge blocked",
    "neutral": "⚠️ Merge not blocked, but look",
    "success": "✅ Merge not blocked",
}
_ELSEWHERE: dict[CheckConclusion, str] = {
    "failure": "❌ Failed",
    "neutral": "⚠️ Passed with doubts",
    "success": "✅ Passed",
}


def answer(report: BumpReport) -> str:
    """Whether the merge is blocked, and the headline; plain text."""
    if report.exit_code == INTERRUPTED:
        blocks = report.pull_request is not None  # a check that failed, whatever the reason
        return f"{'❌ Merge blocked, cancelled' if blocks else '⚠️ Cancelled'}: {report.headline}"
    said = _ELSEWHERE if report.pull_request is None else _ON_PULL_REQUEST
    return f"{said[report.conclusion]}: {report.headline}"


def next_step(report: BumpReport) -> str:
    """What to do next: one or two sentences of plain text."""
    return (
        _approve(report)
        or _go_on(report)
        or _mend_build(report)
        or _mend_series(report.verdict)
        or _mend_coverage(report)
        or _mend_stage(report)
        or _settle_doubt(report.verdict)
        or _prepare_sync(report)
        or _measure_something(report)
        or _begin_a_history(report.verdict)
        or "nothing to do."
    )


def stopped_stages(report: BumpReport) -> list[Stage]:
    """The stages that failed or were interrupted."""
    return [stage for stage in report.stages if stage.status in ("failed", "interrupted")]


def _approve(report: BumpReport) -> str:
    if report.trust is None or report.trust.trusted:
        return ""
    if report.conclusion == "failure":
        return "look at what the fork's run wrote: it is not what ciwm writes."
    return "read the change; to have a result that counts, run the job again and approve it."


def _go_on(report: BumpReport) -> str:
    if report.exit_code != INTERRUPTED:
        return ""
    if report.run_file is None:
        return "this job was cancelled before anything was measured: run it again."
    return (
        "this job was cancelled; what was measured is kept. Go on from the records of "
        "this job by: ciwm bench --resume RECORDS/run; or run the job again."
    )


def _mend_build(report: BumpReport) -> str:
    broken = [build for build in report.builds if not build.ok]
    if not broken:
        return ""
    if len(report.builds) > 1 and broken == [report.builds[0]]:
        return (
            "this change builds, but what it is compared with does not: "
            "mend the base branch first (its last log lines are in this report)."
        )
    return "mend the build (its last log lines are in this report), then push."


def _mend_stage(report: BumpReport) -> str:
    for stage in stopped_stages(report):
        if stage.name == "build":
            continue
        if stage.hint:
            return f"{clipped(stage.hint, 300)}; then run this job again."
        return f"run this job again ({stage.name} did not finish)."
    return ""


def _mend_series(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    if rows_of(verdict, "failed"):
        return "mend what fails to run on head (the reasons are in the table), then push."
    slower = rows_of(verdict, "regressed")
    if slower and all(row.of_build for row in slower) and not rows_of(verdict, "missing"):
        return "find what makes the build longer, or raise its limit ([gate] of the base branch)."
    if slower:
        return "find what slowed it down, mend it and push; the check runs again by itself."
    if rows_of(verdict, "missing"):
        missing = short(rows_of(verdict, "missing")[0].series, 60)
        return (
            f"bring the missing benchmark back, or list it ({missing}) under "
            "[gate] removed in ciwm.toml."
        )
    return ""


def _mend_coverage(report: BumpReport) -> str:
    if report.map_diff is None or not report.map_diff.blocks:
        return ""
    return (
        "bring back what the workload map lost (under Workload map), or take it out of "
        "[gate] block_on on the base branch."
    )


def _settle_doubt(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    if rows_of(verdict, "void"):
        return "run the job again on a quiet machine: conditions disturbed this measurement."
    doubtful = rows_of(verdict, "inconclusive")
    if doubtful and all(row.of_build and not row.needs_confirmation for row in doubtful):
        return "nothing you must do. To time both builds, run the job again."
    if doubtful:
        return (
            "nothing you must do. To get an answer, run the job again, or allow more launches "
            "([gate] max_launches in ciwm.toml)."
        )
    return ""


def _prepare_sync(report: BumpReport) -> str:
    sync = report.sync
    if sync is None or not sync.behind.commits:
        return ""
    if sync.conflicts is None:
        return "nothing for this change; the sync report says what it could not compute."
    if sync.conflicts.count:
        return (
            "nothing for this change. The next sync with upstream needs its conflicts resolved "
            "by hand."
        )
    return ""


def _begin_a_history(verdict: Verdict | None) -> str:
    if verdict is None or any(row.outcome != "new" for row in verdict.series):
        return ""
    return "nothing to do. Once this is merged, later changes are compared with these figures."


def _measure_something(report: BumpReport) -> str:
    if report.verdict is not None and not all(row.of_build for row in report.verdict.series):
        return ""
    if any(stage.name == "bench" and stage.message == NOT_ASKED for stage in report.stages):
        return ""
    return "nothing you must do. To have speed judged too, declare a [[workload]] in ciwm.toml."
