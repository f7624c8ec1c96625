"""The map in a story: both builds observed on the same workload files, and what changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from ciwm.config import WorkloadConfig
    from ciwm.config_map import MapConfig
    from ciwm.records import BuildRecord, Manifest, WorkloadMap
    from ciwm.records.opmap_diff import MapChange, MapDiff
    from ciwm.records.sync import SyncReport
    from ciwm.story.bump import Bump

EDITED = 5  # workloads that are named
SHOWN = 500  # changes that a report carries; the maps beside it have all


def is_mapped(bump: Bump, builds: Sequence[BuildRecord]) -> bool:
    """Whether a side enables the map, or it alone is asked for, and both sides are built."""
    enabled = bump.config.map.enabled or bump.base_config.map.enabled or bump.only == "map"
    return enabled and len(builds) == 2 and all(build.ok for build in builds)  # noqa: PLR2004


def mapped(
    bump: Bump,
    builds: Sequence[BuildRecord],
    say: Callable[[str], None],
    stop: threading.Event,
) -> tuple[WorkloadMap, WorkloadMap]:
    """The maps of base and head, both of head's workloads; raises ConfigError where they cannot."""
    base, head = (_map(bump, build, say, stop) for build in builds)
    return base, head


def _policy(bump: Bump) -> MapConfig:
    """How it is mapped: as base says, where base maps; the workloads are head's.

    A pull request may not lower what it is held against.
    """
    stated = bump.base_config.map if bump.base_config.map.enabled else bump.config.map
    return stated.model_copy(update={"workload": bump.config.map.workload})


def _map(
    bump: Bump, build: BuildRecord, say: Callable[[str], None], stop: threading.Event
) -> WorkloadMap:
    from ciwm.launch.cache import kind_directory  # noqa: PLC0415  each stage loads what it needs
    from ciwm.launch.workloads import WorkloadSource  # noqa: PLC0415
    from ciwm.opmap.making import MapRequest  # noqa: PLC0415
    from ciwm.opmap.mapping import make_map  # noqa: PLC0415
    from ciwm.opmap.observe import Site  # noqa: PLC0415
    from ciwm.opmap.subjects import declared_workloads  # noqa: PLC0415

    config = bump.config.model_copy(update={"map": _policy(bump)})
    folder = _new_folder(bump.directory / "map", build.revision.sha[:12])
    source = WorkloadSource(bump.repository, bump.head)
    declared = [one for one in declared_workloads(config) if one.model or one.python]
    paths = {path for one in declared for path in source.files(_by_model(one))}
    source.materialise(paths, folder / "workloads")
    site = Site(
        python=build.python,
        root=folder / "workloads",
        python_path=tuple(Path(build.directory, entry) for entry in config.build.python_path),
        directory=folder,
        cache=kind_directory("extensions"),
        timeout_s=config.map.timeout_s,
        stop=stop,
    )
    request = MapRequest(
        config=config,
        site=site,
        stages=tuple(one for one in config.map.only if one != "queue" or config.map.queue != "off"),
        prove=config.map.queue == "proven",
        manifest=_manifest(bump, config.map.target),
        repository=bump.name,
        revision=build.revision.sha,
        say=say,
    )
    return make_map(request)


def _manifest(bump: Bump, target: str | None) -> Manifest | None:
    """The target's manifest: a file of the repository as base has it, else as head has it."""
    from ciwm.opmap.manifests import read_manifest  # noqa: PLC0415
    from ciwm.records import Manifest, parse_record  # noqa: PLC0415
    from ciwm.story.files_at import file_at  # noqa: PLC0415

    if target is None:
        return None
    if not Path(target).is_absolute():
        for side in (bump.base, bump.head):
            data = file_at(bump.repository, side.sha, target)
            if data is not None:
                text = data.decode("utf-8", "replace")
                return parse_record(text, Manifest, f"{side.sha[:12]}:{target}")
    return read_manifest(target)


def _new_folder(parent: Path, name: str) -> Path:
    """A folder of its own for each side, also when both are the same commit."""
    folder, number = parent / name, 1
    while folder.exists():
        number += 1
        folder = parent / f"{name}-{number}"
    return folder


def _by_model(workload: WorkloadConfig) -> WorkloadConfig:
    """The workload whose files are those of its model."""
    if workload.model is None:
        return workload
    return workload.model_copy(update={"python": workload.model, "command": None})


def map_changes(
    bump: Bump,
    maps: tuple[WorkloadMap, WorkloadMap],
    sync: SyncReport | None,
    sync_base: SyncReport | None,
) -> MapDiff:
    """What changed, by the base's policy; and since which upstream commit, where that moved."""
    from ciwm.opmap.diff import map_diff  # noqa: PLC0415
    from ciwm.policy.map_gate import judged_map  # noqa: PLC0415

    policy = bump.base_config
    diff = map_diff(*maps, policy.gate.block_on, policy.map.fallback_budget)
    news = {
        "changes": (*_gone(bump), *diff.changes),
        "warnings": (*_edited(bump), *diff.warnings),
    }
    diff = judged_map(diff.model_copy(update=news), policy.gate.block_on)
    moved = sync is not None and sync_base is not None and sync.merge_base != sync_base.merge_base
    since = f"upstream {sync.merge_base[:7]}" if sync is not None and moved else ""
    return diff.model_copy(update={"since": since, "changes": diff.changes[:SHOWN]})


def _edited(bump: Bump) -> Iterator[str]:
    """What to beware of where head edits what both sides are mapped by."""
    from ciwm.launch.workloads import WorkloadSource, changed_paths  # noqa: PLC0415
    from ciwm.opmap.subjects import declared_workloads  # noqa: PLC0415

    source = WorkloadSource(bump.repository, bump.head)
    changed = changed_paths(bump.repository, bump.base, bump.head)
    known = {one.id: one for one in declared_workloads(bump.base_config)}
    edited = [
        one.id
        for one in declared_workloads(bump.config)
        if (one.model or one.python)
        and (
            not changed.isdisjoint(source.files(_by_model(one)))
            or _what_is_mapped(known.get(one.id, one)) != _what_is_mapped(one)
        )
    ]
    if edited:
        names = ", ".join(edited[:EDITED]) + (", …" if len(edited) > EDITED else "")
        yield (
            f"this change edits workloads it is mapped by: {names}; both sides were mapped as head "
            "has them"
        )


def _what_is_mapped(workload: WorkloadConfig) -> object:
    what = workload.model or workload.python
    return what, workload.phase, workload.params, workload.devices, workload.parallel


def _gone(bump: Bump) -> Iterator[MapChange]:
    """Workloads that base declares and head does not: neither map has them, so nobody would see."""
    from ciwm.gate_config import matches  # noqa: PLC0415
    from ciwm.opmap.subjects import declared_workloads  # noqa: PLC0415
    from ciwm.records.opmap_diff import MapChange  # noqa: PLC0415

    if not bump.base_config.map.enabled:
        return
    kept = {one.id for one in declared_workloads(bump.config)}
    for one in declared_workloads(bump.base_config):
        removed = any(matches(one.id, pattern) for pattern in bump.base_config.gate.removed)
        if one.id not in kept and not removed and (one.model or one.python):
            yield MapChange(
                kind="workload lost",
                subject=one.id,
                workloads=(one.id,),
                sentence=f"{one.id} is declared by base and not by head",
                lost=True,
            )
