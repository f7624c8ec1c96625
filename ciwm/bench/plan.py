"""What will be measured, fixed before the first launch."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.bench.place import NO_MATRIX
from ciwm.errors import ConfigError, UsageError
from ciwm.launch.collectives import size_bytes
from ciwm.launch.launcher import launcher_words
from ciwm.launch.series import cases, declared, family
from ciwm.launch.workloads import WorkloadSource, changed_paths
from ciwm.policy import by_policy_of
from ciwm.policy.first_guess import informed, refuse_undetectable
from ciwm.records import Plan
from ciwm.records.ranks import CollectiveSeries, ScalingGroup, ScalingPoint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ciwm.bench.place import Place
    from ciwm.config import Config, WorkloadConfig
    from ciwm.git import Repository
    from ciwm.records import BuildRecord, Calibration, Revision, Series


@dataclass(frozen=True)
class BenchRequest:
    """What to measure: two builds, the workloads of a configuration, and where the files go.

    `only` names workloads (none: all of them); the number of launches and the budget are
    `config.gate`'s. `base_config` is what base declares: a series that is gone must be noticed.
    Where `base_decides`, its thresholds hold. `calibration` is what is known of this machine's
    noise; to `calibrate` is to measure one build against itself. `place` is this run's in a matrix.
    """

    repository: Repository
    config: Config
    base: BuildRecord
    head: BuildRecord
    workloads_from: Revision
    directory: Path
    seed: int
    only: tuple[str, ...] = ()
    base_config: Config | None = None
    base_decides: bool = False
    calibration: Calibration | None = None
    calibrate: bool = False
    place: Place = NO_MATRIX


def selected(config: Config, only: Sequence[str]) -> tuple[WorkloadConfig, ...]:
    """The workloads to measure, in the configuration's order; raises UsageError."""
    if not config.workload:
        raise ConfigError(
            "no workload is declared",
            'add one to ciwm.toml: [[workload]] with id = "..." and python = "bench/steps.py:step"',
        )
    known = [workload.id for workload in config.workload]
    for name in only:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(known)}"
            raise UsageError(f"no workload {name!r}", hint)
    return tuple(workload for workload in config.workload if not only or workload.id in only)


def check_workloads(
    repository: Repository, config: Config, source: Revision, only: Sequence[str] = ()
) -> None:
    """Raise what can be known to be wrong with workloads before anything is built: ConfigError."""
    files = WorkloadSource(repository, source)
    for workload in selected(config, only):
        files.files(workload)
        launcher_words(workload)
        if workload.command is not None and "{out}" not in workload.command:
            raise ConfigError(
                f"workload {workload.id}: its command is not told where to write its samples",
                "put {out} where the command takes the path of a file to write",
            )


def make_plan(request: BenchRequest) -> tuple[Plan, tuple[str, ...]]:
    """The plan, and all files of its workloads; raises ConfigError for what cannot be run."""
    workloads = selected(request.config, request.only)
    tests = family(workloads, request.config.gate)
    source = WorkloadSource(request.repository, request.workloads_from)
    files = {workload.id: source.files(workload) for workload in workloads}
    changed = changed_paths(request.repository, request.base.revision, request.head.revision)
    plan = Plan(
        seed=request.seed,
        max_launches=request.config.gate.max_launches,
        family=tests,
        family_size=_family_size(request, len(tests)),
        workloads=tuple(files),
        workloads_from=request.workloads_from,
        touched_workloads=tuple(
            one.id
            for one in workloads
            if changed and (source.edited(one, changed) or _redeclared(one, request.base_config))
        ),
        gone=_gone(request),
        added=_added(request),
        purpose="calibrate" if request.calibrate else "compare",
        collectives=tuple(one for workload in workloads for one in collective_series(workload)),
        scaling=scaling_groups(request.config, workloads),
        shard=request.place.label,
        shard_labels=request.place.labels,
    )
    if request.base_config is not None and request.base_decides:
        plan = by_policy_of(plan, request.base_config)
    if request.calibration is not None:
        plan = informed(plan, request.config.gate, request.calibration)
    refuse_undetectable(plan, request.config.gate)
    return plan, tuple(sorted({path for own in files.values() for path in own}))


def collective_series(workload: WorkloadConfig) -> tuple[CollectiveSeries, ...]:
    """The series of a workload that are collectives, with the peak it declares."""
    if workload.collective is None:
        return ()
    return tuple(
        CollectiveSeries(
            series=case.series,
            operation=str(case.params["op"]),
            dtype=str(case.params["dtype"]),
            size_bytes=size_bytes(workload, case.params),
            ranks=workload.ranks,
            peak_gb_s=workload.collective.peak_gb_s,
            peak_source=workload.collective.peak_source,
        )
        for case in cases(workload)
    )


def scaling_groups(config: Config, workloads: Sequence[WorkloadConfig]) -> tuple[ScalingGroup, ...]:
    """The scaling groups of which two workloads or more are measured, the fewest ranks first."""
    chosen = {workload.id: workload.ranks for workload in workloads}
    groups = []
    for one in config.scaling:
        points = [ScalingPoint(workload=n, ranks=chosen[n]) for n in one.workloads if n in chosen]
        points.sort(key=lambda point: point.ranks)
        if len(points) > 1:
            groups.append(
                ScalingGroup(id=one.id, kind=one.kind, metric=one.metric, points=tuple(points))
            )
    return tuple(groups)


def _family_size(request: BenchRequest, own: int) -> int:
    """The number of series that are judged together: in a matrix, those of all its shards."""
    if not request.place.labels:
        return own
    declared_in_all = family(selected(request.config, ()), request.config.gate)
    return len(declared_in_all) * len(request.place.labels)


def _redeclared(workload: WorkloadConfig, base: Config | None) -> bool:
    """Whether base declares a workload to do something else; thresholds are the gate's affair."""
    known = {one.id: one for one in base.workload} if base is not None else {}
    old = known.get(workload.id, workload)
    return workload.model_dump(exclude={"metrics"}) != old.model_dump(exclude={"metrics"})


def _gone(request: BenchRequest) -> tuple[Series, ...]:
    """What base declares and the configuration of this run does not; of the workloads chosen."""
    if request.base_config is None:
        return ()
    gate = request.config.gate
    kept = {one.key for each in request.config.workload for one in declared(each, gate)}
    return tuple(
        one
        for each in request.base_config.workload
        for one in declared(each, gate)
        if one.key not in kept and (not request.only or each.id in request.only)
    )


def _added(request: BenchRequest) -> tuple[str, ...]:
    if request.base_config is None:
        return ()
    known = {workload.id for workload in request.base_config.workload}
    names = (workload.id for workload in selected(request.config, request.only))
    return tuple(name for name in names if name not in known)
