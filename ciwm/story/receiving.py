"""The trusted half of a fork-safe pair: an untrusted report, judged again by the base's policy."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm import __version__
from ciwm.errors import CiwmError, UsageError
from ciwm.policy import Waivers
from ciwm.policy.closing import closings
from ciwm.policy.map_gate import judged_map
from ciwm.records.bump import BumpReport, Stage
from ciwm.story.ending import conclusion_of, exit_code_of
from ciwm.story.packaging import head_is_lost
from ciwm.story.shards import environments
from ciwm.story.unmeasured import could_not_begin

if TYPE_CHECKING:
    from ciwm.config import Config
    from ciwm.publish.hostile import Handed
    from ciwm.records import SyncReport, Trust, Verdict
    from ciwm.records.bump import CheckConclusion
    from ciwm.story.origin import Origin


# as they were claimed; an image of head that is lost and a warning are no success, nothing is one
_TOLD = (
    "base",
    "head",
    "builds",
    "packages",
    "coverage",
    "coverage_by_shard",
    "trends",
    "warnings",
)


def received(handed: Handed, origin: Origin) -> BumpReport:
    """The report with everything that decides found anew; the rest are claims, told as such.

    Raises UsageError for what cannot be judged, ConfigError where the base's policy cannot be read.
    """
    try:
        return _received(handed, origin)
    except CiwmError:
        raise
    except Exception as error:  # a stranger chose the figures, and a crash leaves the check pending
        raise UsageError(
            f"the figures of the artifact cannot be judged: {type(error).__name__}"
        ) from error


def _received(handed: Handed, origin: Origin) -> BumpReport:
    claims, config = handed.report, origin.config
    now = datetime.now(timezone.utc)
    waivers = Waivers(origin.waivers, now.date())
    verdict = _judged(handed, config, waivers)
    sync = _sync_judged(claims.sync, config)
    map_diff = judged_map(claims.map_diff, config.gate.block_on) if claims.map_diff else None
    stages = (*claims.stages, *_left_out(handed, config))
    over_budget = config.sync.block and sync is not None and not _within_budget(sync)
    exit_code = exit_code_of(
        stages,
        claims.builds,
        verdict,
        config.gate,
        map_diff,
        over_budget=over_budget or head_is_lost(claims.packages),
        interrupted=any(stage.status == "interrupted" for stage in stages),
    )
    found = conclusion_of(verdict, exit_code, map_diff, claims.warnings)
    told = {name: getattr(claims, name) for name in _TOLD}
    report = BumpReport(
        **told,
        generated_at=now,
        ciwm_version=__version__,
        repository=origin.repository,
        pull_request=origin.pull_request,
        check_sha=origin.sha,
        run_url=origin.url,
        stages=stages,
        sync=sync,
        sync_base=_sync_judged(claims.sync_base, config),
        **(environments(handed.run) if handed.run else {}),
        run_summary=handed.run.stopped_because if handed.run else None,
        verdict=verdict,
        map_diff=map_diff,
        conclusion=found if origin.trust.trusted else "neutral",
        headline="",
        exit_code=exit_code,
        trust=_compared(origin.trust, claims, verdict, found),
        closing=closings(waivers, verdict.series, ()) if verdict else (),
    )
    links = {} if origin.trust.trusted else _unlinked(report)
    return report.model_copy(update={"headline": _headline(report), **links})


def refused(error: CiwmError, origin: Origin) -> BumpReport:
    """The report that says why nothing of an untrusted one is shown; never a pass."""
    return could_not_begin(
        error,
        origin.event,
        repository=origin.repository,
        pull_request=origin.pull_request,
        check_sha=origin.sha,
        run_url=origin.url,
        trust=origin.trust,
    )


def _judged(handed: Handed, config: Config, waivers: Waivers) -> Verdict | None:
    from ciwm.launch.series import family  # noqa: PLC0415  each stage loads what it needs
    from ciwm.policy import decide, of_builds  # noqa: PLC0415
    from ciwm.policy.rejudge import replanned  # noqa: PLC0415

    builds, known = handed.report.builds, waivers if waivers.list else None
    if handed.run is None:
        whole = len(builds) == 2  # noqa: PLR2004  base and head
        return of_builds(builds, config.gate, known) if whole else None
    declared = family(config.workload, config.gate)
    run = replanned(handed.run, declared, config.gate)
    return decide(run, config.gate, waivers=known)


def _sync_judged(claimed: SyncReport | None, config: Config) -> SyncReport | None:
    """The claimed figures of a sync by the base's budgets."""
    from ciwm.policy.sync_gate import judged  # noqa: PLC0415
    from ciwm.upstream.classes import path_classifier  # noqa: PLC0415

    if claimed is None:
        return None
    path_class = path_classifier({"ignored": config.sync.hygiene.ignore})
    return judged(claimed, config.sync, lambda path: path_class(path) == "ignored")


def _unlinked(report: BumpReport) -> dict[str, SyncReport]:
    """The sync costs without addresses: no link of ours leads where a stranger wants it to."""
    found = {}
    for name, sync in (("sync", report.sync), ("sync_base", report.sync_base)):
        if sync is not None and sync.conflicts is not None:
            culprits = (one.model_copy(update={"url": None}) for one in sync.conflicts.culprits)
            kept = sync.conflicts.model_copy(update={"culprits": tuple(culprits)})
            found[name] = sync.model_copy(update={"conflicts": kept})
    return found


def _within_budget(sync: SyncReport) -> bool:
    return sync.gate is None or sync.gate.ok


def _left_out(handed: Handed, config: Config) -> tuple[Stage, ...]:
    """What a whole report has and this one has not: to leave a stage out must not be a pass."""
    stages = handed.report.stages
    if any(stage.status in ("failed", "interrupted") for stage in stages):
        return ()
    if len(handed.report.builds) != 2:  # noqa: PLR2004  base and head
        message = "the report tells of no builds of base and head"
        return (Stage(name="build", status="failed", duration_s=0, message=message),)
    if handed.run is None and config.workload and handed.report.builds[1].ok:
        count = len(config.workload)
        message = f"the report comes without a run, and the base declares {count} workload(s)"
        return (Stage(name="bench", status="failed", duration_s=0, message=message),)
    if handed.report.map_diff is None and config.map.enabled and handed.report.builds[1].ok:
        message = "the report comes without a map, and the base's configuration enables it"
        return (Stage(name="map", status="failed", duration_s=0, message=message),)
    return _image_left_out(handed.report, config)


def _image_left_out(claims: BumpReport, config: Config) -> tuple[Stage, ...]:
    """An image of head that is lost or not told of, which no stage says."""
    if head_is_lost(claims.packages):
        message = "the report tells of an image of head that could not be made or does not work"
    elif (
        config.package.command is not None
        and claims.builds[1].ok
        and not any(one.side == "head" for one in claims.packages)
    ):
        message = "the report comes without an image of head, and the base's configuration makes it"
    else:
        return ()
    return (Stage(name="package", status="failed", duration_s=0, message=message),)


def _compared(
    trust: Trust, claims: BumpReport, verdict: Verdict | None, found: CheckConclusion
) -> Trust:
    """What the report said of itself, where that is not what was found."""
    said = claims.verdict.outcome if claims.verdict else None
    ours = verdict.outcome if verdict else None
    if said != ours:
        return trust.model_copy(update={"said": said or "nothing", "found": ours or "nothing"})
    if claims.conclusion != found:
        return trust.model_copy(update={"said": claims.conclusion, "found": found})
    return trust


def _headline(report: BumpReport) -> str:
    from ciwm.report.headline import headline  # noqa: PLC0415

    line = headline(
        report.stages,
        report.builds,
        report.sync,
        report.verdict,
        report.sync_base,
        map_diff=report.map_diff,
    )
    if report.trust is not None and not report.trust.trusted:
        return f"Reported by untrusted code: {line[0].lower()}{line[1:]}"
    return line
