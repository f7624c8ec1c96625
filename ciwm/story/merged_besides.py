"""What the jobs of a matrix tell beside their runs: images, coverage, trends, waivers to close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import BUG, ENVIRONMENT, INTERRUPTED, NO
from ciwm.records.coverage import Coverage
from ciwm.records.labels import labelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.records import BumpReport
    from ciwm.records.closing import Closing
    from ciwm.records.package import PackageRecord
    from ciwm.records.trend import Trend

Told = tuple[str, "BumpReport"]  # a job's label, and its report


def merged_packages(told: Sequence[Told]) -> tuple[PackageRecord, ...]:
    """The images of all jobs, each with the job that made it."""
    return tuple(
        one.model_copy(update={"shard": label}) for label, report in told for one in report.packages
    )


def merged_coverage(told: Sequence[Told]) -> tuple[Coverage, ...]:
    """What tests reach, once where all jobs found the same; else each with its jobs' labels.

    Of a matrix where some found any, the jobs without are named by a problem of theirs.
    """
    if all(report.coverage is None for _, report in told):
        return ()
    found: dict[str, tuple[Coverage, list[str]]] = {}
    for label, report in told:
        one = report.coverage or Coverage(problems=("there is no coverage, and other shards have",))
        found.setdefault(one.model_dump_json(), (one, []))[1].append(label)
    if len(found) == 1:
        return tuple(one for one, _ in found.values())
    return tuple(
        one.model_copy(update={"shard": ", ".join(filter(None, labels))})
        for one, labels in found.values()
    )


def merged_trends(told: Sequence[Told]) -> tuple[Trend, ...]:
    """Each series on the machine of its job, by its name in the merged run."""
    return tuple(
        one.model_copy(update={"series": labelled(one.series, label)})
        for label, report in told
        for one in report.trends
    )


def merged_closing(told: Sequence[Told]) -> tuple[Closing, ...]:
    """The waivers that every job would close: one that a device still needs stays."""
    others = [{(c.series, c.metric, c.issue, c.expires) for c in one.closing} for _, one in told]
    return tuple(
        one
        for one in told[0][1].closing
        if all((one.series, one.metric, one.issue, one.expires) in keys for keys in others)
    )


def warned(told: Sequence[Told]) -> tuple[str, ...]:
    """What the jobs warn of, each line once, and what some of them lack."""
    said = (line for _, report in told for line in report.warnings)
    return tuple(dict.fromkeys((*said, *_lacking(told))))


def _lacking(told: Sequence[Told]) -> Iterator[str]:
    """What a job does not tell of though others do, and no stage of it says why: a line each."""
    have = {
        "package": {label for label, report in told if report.packages},
        "map": {label for label, report in told if report.map_diff is not None},
    }
    for name, labels in have.items():
        for label, report in told if labels else ():
            if label not in labels and not _stopped(report):
                named = f"shard {label}" if label else "a shard without a label"
                yield f"{named} has no result of the stage {name}, and others do"


def _stopped(report: BumpReport) -> bool:
    return any(stage.status in ("failed", "interrupted") for stage in report.stages) or not all(
        build.ok for build in report.builds
    )


def with_theirs(exit_code: int, told: Sequence[Told]) -> int:
    """The exit code with what ended a job alone: records that could not be kept, a mistake of ours.

    No and interrupted stay what they are, as where there is one job.
    """
    if exit_code in (NO, INTERRUPTED):
        return exit_code
    ended = {report.exit_code for _, report in told}
    return next((code for code in (BUG, ENVIRONMENT) if code in ended), exit_code)
