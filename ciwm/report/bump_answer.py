"""The answer a reader wants first: is the merge blocked, and what is there to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import INTERRUPTED
from ciwm.policy.new_waivers import can_be_waived
from ciwm.records.bump import NOT_ASKED
from ciwm.report.detail import clipped
from ciwm.report.figures import plural
from ciwm.report.headline import doubtful_rows, rows_of, short
from ciwm.report.sync_cost import resolved_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.records import BumpReport, Stage, Trust, Verdict
    from ciwm.records.bump import CheckConclusion

_NEUTRAL = "\N{INFORMATION SOURCE}\ufe0f"
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
        stops = report.pull_request is not None  # a check that failed, whatever the reason
        return f"{'❌ Merge blocked, cancelled' if stops else '⚠️ Cancelled'}: {report.headline}"
    said = (_ELSEWHERE if report.pull_request is None else _ON_PULL_REQUEST)[report.conclusion]
    if report.conclusion == "success" and _unmeasured(report) and report.map_diff is None:
        said = said.replace("✅", _NEUTRAL)  # nothing was found, good or bad
    return f"{said}: {report.headline}"


def next_steps(report: BumpReport) -> tuple[str, ...]:
    """What to do next, one plain text for each thing that blocks; at least one."""
    alone = _approve(report) or _go_on(report)
    if alone:
        return (alone,)
    steps = tuple(filter(None, _mends(report)))
    if steps:
        also = (_settle_rest(report.verdict), _keep_results(report))
        return (*steps, *filter(None, also))
    doubts = (_settle_doubt(report.verdict), _map_alike(report), _keep_results(report))
    if any(doubts):
        return tuple(filter(None, doubts))
    return (
        _review_merge(report)
        or _prepare_sync(report)
        or _measure_something(report)
        or _begin_a_history(report.verdict)
        or "nothing to do.",
    )


def stopped_stages(report: BumpReport) -> list[Stage]:
    """The stages that failed or were interrupted."""
    return [stage for stage in report.stages if stage.status in ("failed", "interrupted")]


def _mends(report: BumpReport) -> Iterator[str]:
    """One step for each kind of thing that blocks, the worst first; some may be empty."""
    build = _mend_build(report)
    yield build
    if not build:  # what was never built cannot have run
        yield from _mend_series(report.verdict, report.trust)
    yield _mend_coverage(report)
    yield _mend_stage(report)


def _unmeasured(report: BumpReport) -> bool:
    return report.verdict is None or all(row.of_build for row in report.verdict.series)


def _approve(report: BumpReport) -> str:
    if report.trust is None or report.trust.trusted or report.conclusion == "failure":
        return ""  # of a failure, the stage that failed knows the mend
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
        if stage.name == "build" or (stage.name, stage.status) == ("store", "failed"):
            continue
        if stage.hint:
            return f"{clipped(stage.hint, 300)}; then run this job again."
        return f"run this job again ({stage.name} did not finish)."
    return ""


def _keep_results(report: BumpReport) -> str:
    for stage in stopped_stages(report):
        if (stage.name, stage.status) == ("store", "failed"):
            mend = clipped(stage.hint, 300) or "see under Steps that failed"
            return f"to have results kept (does not block): {mend}."
    return ""


def _mend_series(verdict: Verdict | None, trust: Trust | None) -> Iterator[str]:
    if verdict is None:
        return
    if rows_of(verdict, "failed"):
        yield "mend what fails to run on head (the reasons are in the table), then push."
    if missing := rows_of(verdict, "missing"):
        which = "the missing benchmark" if len(missing) == 1 else "the missing benchmarks"
        # a trusted job judges by the base as it is now
        older = "" if trust is None else ", bring the branch up to date where its base has it since"
        yield (
            f"bring {which} back{older}, or list {'it' if len(missing) == 1 else 'them'} "
            f"({short(missing[0].series, 60)}{', …' if len(missing) > 1 else ''}) under "
            "[gate] removed in ciwm.toml of the base branch, by a change of its own."
        )
    slower = rows_of(verdict, "regressed")
    if slower and all(row.of_build for row in slower):
        yield "find what makes the build longer, or raise its limit ([gate] of the base branch)."
    elif slower:
        accept = any(can_be_waived(row) for row in verdict.series)
        yield (
            "find what slowed it down, mend it and push; the check runs again by itself"
            f"{', or accept it for a while (how: below)' if accept else ''}."
        )


def _settle_rest(verdict: Verdict | None) -> str:
    """What to do about the unclear ones where something else blocks."""
    rows = doubtful_rows(verdict) if verdict is not None else []
    if not rows or all(row.of_build for row in rows):
        return ""
    return (
        f"for a clear answer on the other {plural(len(rows), 'benchmark')} (does not block): run "
        "the job again on a machine that is cool and otherwise idle."
    )


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
        return (
            "run the job again on a machine that is cool and otherwise idle: conditions disturbed "
            "this measurement."
        )
    doubtful = rows_of(verdict, "inconclusive")
    if doubtful and all(row.of_build and not row.needs_confirmation for row in doubtful):
        return "nothing you must do. To time both builds, run the job again."
    if doubtful:
        return (
            "nothing you must do. To get an answer, run the job again, or allow more launches "
            "([gate] max_launches in ciwm.toml)."
        )
    return ""


def _map_alike(report: BumpReport) -> str:
    if report.map_diff is None or not report.map_diff.void:
        return ""
    return (
        "have both sides mapped for one target, then run the job again (what differed: under "
        "Workload map)."
    )


def _review_merge(report: BumpReport) -> str:
    files = resolved_files(report.sync, report.sync_base)
    if not files:
        return ""
    return (
        f"{plural(files, 'file')} had conflicts with upstream; resolved in this change, please "
        "review (Conflicting files, below)."
    )


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
    return (
        "nothing to do. Once this is merged, every change is measured beside its own base, anew; "
        "runs that are kept show trends only."
    )


def _measure_something(report: BumpReport) -> str:
    if not _unmeasured(report):
        return ""
    if any(stage.name == "bench" and stage.message == NOT_ASKED for stage in report.stages):
        return ""
    return "nothing you must do. To have speed judged too, declare a [[workload]] in ciwm.toml."
