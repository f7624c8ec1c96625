"""One bump, one story: sync, build, bench, gate, each a record before it is a sentence.

A stage that fails is written down with its mend, and the stages that do not need it go on.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm import __version__
from ciwm.errors import BUG, ENVIRONMENT, CiwmError, EnvironmentFailure
from ciwm.records.bump import NOT_ASKED, BumpReport, Stage, StageName
from ciwm.story.besides import add_coverage, add_trends
from ciwm.story.ending import conclusion_of, exit_code_of
from ciwm.story.packaging import add_packages, head_is_lost
from ciwm.story.saving import save, unsaved_stages, with_unsaved
from ciwm.story.sync_cost import sync_cost
from ciwm.unforeseen import unforeseen

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.story.bump import Part
    from ciwm.story.story import Story

_NAME_UPSTREAM = (
    "name upstream: [upstream] url in ciwm.toml, a remote named upstream, or --upstream"
)
_OVER = "sync with upstream, or raise the budget ([sync.budget] of the base branch's ciwm.toml)"


def tell(story: Story) -> BumpReport:
    """Run every stage, save its records under the bump's directory, and return the report."""
    from ciwm.launch.builds import release_builds  # noqa: PLC0415

    try:
        for parts, name, stage in _STAGES:
            if story.bump.only is None or story.bump.only in parts:
                _carry_out(story, name, stage)
            elif name is not None:
                story.skip(name, NOT_ASKED)
    finally:
        release_builds()
    report = _report(story)
    _save(story, "report.json", report.to_json())
    return _report(story) if story.unsaved else report


def _carry_out(story: Story, name: StageName | None, stage: Callable[[Story], None]) -> None:
    """Run a stage; the check has to end, and what was measured to be told, whatever it raises."""
    try:
        stage(story)
    except Exception as error:  # noqa: BLE001  known failures do not leave a stage
        story.broke(name or "gate", unforeseen(error))


def _sync(story: Story) -> None:
    bump = story.bump
    if bump.upstream is None:
        why = bump.no_upstream or "no upstream is configured"
        if bump.only != "sync":
            story.skip("sync", why)
            return
        with story.stage("sync"):  # all that was asked for could not be done: no pass
            raise EnvironmentFailure(why, _NAME_UPSTREAM)
        return
    with story.stage("sync"):
        effort = bump.config.sync
        pulls = effort.pulls and bump.config.upstream.github is not None
        history_s = max(effort.wanted_history_s, bump.base_config.sync.wanted_history_s)
        story.sync = sync_cost(
            bump, bump.upstream, bump.head, effort.culprits_s, history_s=history_s, pulls=pulls
        )
        same = bump.head.sha == bump.base.sha
        known = story.sync.pulls or False
        story.sync_base = (
            story.sync if same else sync_cost(bump, bump.upstream, bump.base, pulls=known)
        )
        _save(story, "sync-base.json", story.sync_base.to_json())
        _save(story, "sync.json", story.sync.to_json())
    if _over_budget(story) and story.stages[-1].status == "done":
        over = "; ".join(story.sync.gate.over) if story.sync and story.sync.gate else ""
        failed = {"status": "failed", "message": over, "hint": _OVER}
        story.stages[-1] = story.stages[-1].model_copy(update=failed)


def _over_budget(story: Story) -> bool:
    """Whether head ends over a budget that the base's configuration makes a reason to block."""
    gate = story.sync.gate if story.sync else None
    return story.bump.base_config.sync.block and gate is not None and not gate.ok


def _check(story: Story) -> None:
    """What is declared wrongly is told at once, not after two builds."""
    from ciwm.bench.plan import check_workloads  # noqa: PLC0415

    bump = story.bump
    if not bump.config.workload or story.stop.is_set():
        return
    try:
        check_workloads(bump.repository, bump.config, bump.head)
    except CiwmError:
        with story.stage("bench"):
            raise
        story.skip("build", "the workloads cannot be run as they are declared")


def _cancelled_before(story: Story, name: StageName) -> bool:
    """Whether the job was cancelled before a stage, which is written down where no other is cut."""
    if not story.stop.is_set():
        return False
    if not any(stage.status == "interrupted" for stage in story.stages):
        why = "the job was cancelled before it began"
        story.stages.append(Stage(name=name, status="interrupted", duration_s=0, message=why))
    return True


def _build(story: Story) -> None:
    from ciwm.launch.builds import build  # noqa: PLC0415  each stage loads what it needs

    bump = story.bump
    if any(stage.name == "build" for stage in story.stages) or _cancelled_before(story, "build"):
        return
    gate = bump.base_config.gate  # a build from the cache tells no time: made anew where one counts
    sides = (
        (bump.base, bump.base_config, gate.build_growth_pct is not None),
        (bump.head, bump.config, gate.times_builds),
    )
    with story.stage("build"):
        for revision, config, fresh in sides:
            record = build(
                bump.repository,
                revision,
                config.build,
                on_line=story.progress,
                stop=story.stop,
                fresh=fresh,
            )
            story.builds = (*story.builds, record)
            story.progress(f"build of {revision.ref}: {record.status}, {record.duration_s:.1f} s")


def _map(story: Story) -> None:
    from ciwm.story.mapping import is_mapped, map_changes, mapped  # noqa: PLC0415

    if not is_mapped(story.bump, story.builds) or story.stop.is_set():
        return
    with story.stage("map"):
        maps = mapped(story.bump, story.builds, story.progress, story.stop)
        story.map_diff = map_changes(story.bump, maps, story.sync, story.sync_base)
        records = {"map-base": maps[0], "map": maps[1], "map-diff": story.map_diff}
        for name, record in records.items():
            _save(story, f"{name}.json", record.to_json())


def _bench(story: Story) -> None:
    from ciwm.bench.measure import BenchRequest, measure  # noqa: PLC0415
    from ciwm.story.calibrating import known_calibration  # noqa: PLC0415

    bump = story.bump
    if not bump.config.workload and not bump.base_config.workload:
        story.skip("bench", "no workload is declared: add [[workload]] to ciwm.toml")
        return
    if len(story.builds) != 2 or _cancelled_before(story, "bench"):  # noqa: PLR2004  base and head
        return
    base, head = story.builds
    with story.stage("bench"):
        story.run = measure(
            BenchRequest(
                repository=bump.repository,
                config=bump.config.model_copy(
                    update={"gate": bump.base_config.gate, "bench": bump.base_config.bench}
                ),
                base_config=bump.base_config,
                base_decides=True,
                calibration=known_calibration(
                    bump.repository, bump.base_config, head.python, story.progress
                ),
                base=base,
                head=head,
                workloads_from=bump.head,
                directory=bump.directory / "run",
                seed=bump.seed,
                place=bump.place,
            ),
            stop=story.stop,
            on_progress=story.progress,
        )


def _gate(story: Story) -> None:
    from ciwm.policy import Waivers, decide, of_builds  # noqa: PLC0415

    run, gate, first = story.run, story.bump.base_config.gate, story.bump.first
    whole = len(story.builds) == 2  # noqa: PLR2004  base and head
    if run is None and not (whole and gate.times_builds):
        return
    with story.stage("gate"):
        known = Waivers(story.bump.waivers, datetime.now(timezone.utc).date())
        waivers = known if known.list else None
        if run is None:
            story.verdict = of_builds(story.builds, gate, waivers)
        else:
            judged, second = (run, None) if first is None else (first, run)
            story.verdict = decide(judged, gate, second, waivers)
        if story.verdict is not None:
            _save(story, "verdict.json", story.verdict.to_json())


def _store(story: Story) -> None:
    if story.bump.keep is None or story.run is None or story.stop.is_set():
        return
    with story.stage("store"):
        story.progress(f"kept in {story.bump.keep(story.run)}")


_STAGES: tuple[tuple[tuple[Part, ...], StageName | None, Callable[[Story], None]], ...] = (
    (("sync",), "sync", _sync),
    (("bench",), None, _check),
    (("bench", "map"), "build", _build),
    (("bench",), None, add_packages),
    (("bench", "map"), None, _map),
    (("bench",), "bench", _bench),
    (("bench",), "gate", _gate),
    (("bench",), None, add_trends),
    (("bench",), None, add_coverage),
    (("bench",), None, _store),
)


def _save(story: Story, name: str, text: str) -> None:
    why = save(story.bump.directory / name, text)
    if why:
        story.unsaved = story.unsaved or why
        story.progress(f"warning: {why}")


def _report(story: Story) -> BumpReport:
    from ciwm.report.headline import headline  # noqa: PLC0415

    bump, run = story.bump, story.run
    exit_code = exit_code_of(
        story.stages,
        story.builds,
        story.verdict,
        bump.base_config.gate,
        story.map_diff,
        over_budget=_over_budget(story) or head_is_lost(story.packages),
        interrupted=story.stop.is_set(),
    )
    return BumpReport(
        generated_at=datetime.now(timezone.utc),
        ciwm_version=__version__,
        repository=bump.name,
        base=bump.base,
        head=bump.head,
        pull_request=bump.pull_request,
        check_sha=bump.check_sha or bump.head.sha,
        run_url=bump.run_url,
        stages=(*story.stages, *unsaved_stages(story.unsaved)),
        sync=story.sync,
        sync_base=story.sync_base,
        builds=story.builds,
        packages=story.packages,
        environment=run.head.environment if run else None,
        run_file="run/run.json" if run else None,
        run_summary=run.stopped_because if run else None,
        verdict=story.verdict,
        map_diff=story.map_diff,
        conclusion=conclusion_of(story.verdict, exit_code, story.map_diff, bump.warnings),
        headline=headline(
            tuple(story.stages),
            story.builds,
            story.sync,
            story.verdict,
            story.sync_base,
            map_diff=story.map_diff,
        ),
        exit_code=BUG
        if story.bug and exit_code == ENVIRONMENT
        else with_unsaved(exit_code, story.unsaved),
        coverage=story.coverage,
        trends=story.trends,
        closing=story.closing,
        warnings=bump.warnings,
    )
