"""The jobs of a workflow matrix as one story: their runs judged once, their reports made one."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, get_args

from ciwm import __version__
from ciwm.errors import BUG, ENVIRONMENT
from ciwm.records import SEVERITY, BumpReport
from ciwm.records.bump import Stage, StageName
from ciwm.story.ending import conclusion_of, exit_code_of
from ciwm.story.merged_besides import (
    merged_closing,
    merged_coverage,
    merged_packages,
    merged_trends,
    warned,
    with_theirs,
)
from ciwm.story.merged_map import merged_map
from ciwm.story.packaging import head_is_lost
from ciwm.story.shards import environments, missing_stages, unreported

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ciwm.config import Config, GateConfig
    from ciwm.errors import CiwmError
    from ciwm.records import BuildRecord, Run, SyncReport, Verdict
    from ciwm.records.bump import StageStatus
    from ciwm.story.shards import ShardFiles

_ORDER: tuple[StageName, ...] = get_args(StageName)
_WORST: tuple[StageStatus, ...] = ("failed", "interrupted", "done", "skipped")
# what the jobs of one workflow run have in common
_OF_ALL = ("repository", "base", "head", "pull_request", "check_sha", "run_url")


def merged_report(
    shards: Sequence[ShardFiles],
    run: Run | None,
    verdict: Verdict | None,
    config: Config,
    failed: CiwmError | None = None,
) -> BumpReport | None:
    """One report of all jobs; None where they left none. The verdict is that on the merged run.

    Without a run nothing was measured anywhere, as where no workload is declared. `failed` is why
    there is no verdict.
    """
    from ciwm.report.headline import headline  # noqa: PLC0415

    told = [(shard.part.label, shard.report) for shard in shards if shard.report is not None]
    if not told:
        return None
    first = told[0][1]
    missing = tuple(missing_stages(shards))
    stages = (*_stages(told), *_gate(verdict, failed), *missing)
    builds = _builds((report for _, report in told), config.gate)
    sync, sync_base = _sync(report for _, report in told)
    map_diff = merged_map(told, config.gate.block_on)
    packages, coverage = merged_packages(told), merged_coverage(told)
    warnings = (*warned(told), *unreported(shards))
    over = config.sync.block and sync is not None and not _within_budget(sync)
    exit_code = exit_code_of(
        stages,
        builds,
        verdict,
        config.gate,
        map_diff,
        over_budget=over or head_is_lost(packages),
        interrupted=any(stage.status == "interrupted" for stage in stages),
    )
    ended = ENVIRONMENT if missing else with_theirs(exit_code, told)
    # records that a job could not keep end it with 4, and say nothing of head: as with one job
    answered = ended if ended == BUG else exit_code
    return BumpReport(
        generated_at=datetime.now(timezone.utc),
        ciwm_version=__version__,
        **{name: getattr(first, name) for name in _OF_ALL},
        stages=stages,
        sync=sync,
        sync_base=sync_base,
        builds=builds,
        packages=packages,
        **(environments(run) if run else {"environment": first.environment}),
        run_file="run/run.json" if run else None,
        run_summary=run.stopped_because if run else None,
        verdict=verdict,
        map_diff=map_diff,
        conclusion=conclusion_of(verdict, answered, map_diff, warnings),
        headline=headline(stages, builds, sync, verdict, sync_base, map_diff=map_diff),
        exit_code=ended,
        coverage=coverage[0] if len(coverage) == 1 else None,
        coverage_by_shard=coverage if len(coverage) > 1 else (),
        trends=merged_trends(told),
        closing=merged_closing(told),
        warnings=warnings,
    )


def _stages(told: Sequence[tuple[str, BumpReport]]) -> Iterator[Stage]:
    """Each stage once: as it ended in the worst of the jobs, with what that job says of it."""
    for name in _ORDER:
        every = [
            (label, stage)
            for label, report in told
            for stage in report.stages
            if stage.name == name
        ]
        if not every or name == "gate":
            continue
        worst = min((stage.status for _, stage in every), key=_WORST.index)
        those = [(label, stage) for label, stage in every if stage.status == worst]
        said = dict.fromkeys((stage.message, label) for label, stage in those if stage.message)
        yield Stage(
            name=name,
            status=worst,
            duration_s=max(stage.duration_s for _, stage in every),
            message=_said(list(said), alone=len(every) == 1),
            hint=next((stage.hint for _, stage in those if stage.hint), ""),
        )


def _gate(verdict: Verdict | None, failed: CiwmError | None) -> Iterator[Stage]:
    if failed is not None:
        told = {"message": failed.message, "hint": failed.hint or ""}
        yield Stage(name="gate", status="failed", duration_s=0, **told)
    elif verdict is not None:
        yield Stage(name="gate", status="done", duration_s=0)


def _said(messages: list[tuple[str, str]], *, alone: bool) -> str:
    """Messages with the labels of the jobs that say so; one that all say, without."""
    texts = list(dict.fromkeys(text for text, _ in messages))
    if len(texts) == 1 and (alone or len(messages) > 1):
        return texts[0]
    return "; ".join(f"{label}: {text}" if label else text for text, label in messages)


def _builds(reports: Iterable[BumpReport], gate: GateConfig) -> tuple[BuildRecord, ...]:
    """The pair of builds that tells most: whose head does not build, whose base, what took long."""
    pairs = [report.builds for report in reports if len(report.builds) == 2]  # noqa: PLR2004
    return min(pairs, key=lambda pair: _fine(pair, gate), default=())


def _fine(pair: tuple[BuildRecord, ...], gate: GateConfig) -> tuple[bool, bool, int]:
    from ciwm.policy import of_builds  # noqa: PLC0415

    base, head = pair
    verdict = of_builds(pair, gate)
    rows = verdict.series if verdict is not None else ()
    return (
        head.ok,
        base.ok,
        min((SEVERITY.index(row.outcome) for row in rows), default=len(SEVERITY)),
    )


def _sync(reports: Iterable[BumpReport]) -> tuple[SyncReport | None, SyncReport | None]:
    """What upstream costs, as the first job that reckoned it has it, or the first over its budget.

    It is the same on all, unless upstream moved between two jobs.
    """
    found = [(one.sync, one.sync_base) for one in reports if one.sync is not None]
    return min(found, key=lambda pair: _within_budget(pair[0]), default=(None, None))


def _within_budget(sync: SyncReport) -> bool:
    return sync.gate is None or sync.gate.ok
