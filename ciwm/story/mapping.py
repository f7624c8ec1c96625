"""The map in a story: both builds observed on the same workload files, and what changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from ciwm.config import Config, WorkloadConfig
    from ciwm.records import BuildRecord, WorkloadMap
    from ciwm.records.opmap_diff import MapDiff
    from ciwm.records.sync import SyncReport
    from ciwm.story.bump import Bump

SHOWN = 500  # changes that a report carries; the maps beside it have all


def mapped(
    bump: Bump,
    builds: tuple[BuildRecord, BuildRecord],
    say: Callable[[str], None],
    stop: threading.Event,
) -> tuple[WorkloadMap, WorkloadMap]:
    """The maps of base and head, both of head's workloads; raises ConfigError where they cannot."""
    base, head = (_map(bump, build, say, stop) for build in builds)
    return base, head


def _map(
    bump: Bump, build: BuildRecord, say: Callable[[str], None], stop: threading.Event
) -> WorkloadMap:
    from ciwm.launch.cache import kind_directory  # noqa: PLC0415  each stage loads what it needs
    from ciwm.launch.workloads import WorkloadSource  # noqa: PLC0415
    from ciwm.opmap.making import MapRequest  # noqa: PLC0415
    from ciwm.opmap.manifests import read_manifest  # noqa: PLC0415
    from ciwm.opmap.mapping import make_map  # noqa: PLC0415
    from ciwm.opmap.observe import Site  # noqa: PLC0415
    from ciwm.opmap.subjects import declared_workloads  # noqa: PLC0415

    config = bump.config
    folder = _new_folder(bump.directory / "map", build.revision.sha[:12])
    source = WorkloadSource(bump.repository, bump.head)
    declared = [one for one in declared_workloads(config) if one.model or one.python]
    paths = {path for one in declared for path in source.files(_by_model(one))}
    source.materialise(paths, folder / "workloads")
    target = config.map.target
    if target is not None and Path(target).suffix and not Path(target).is_absolute():
        source.materialise([target], folder / "workloads")
        target = str(folder / "workloads" / target)
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
        stages=config.map.only,
        manifest=read_manifest(target) if target else None,
        repository=bump.name,
        revision=build.revision.sha,
        say=say,
    )
    return make_map(request)


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
    maps: tuple[WorkloadMap, WorkloadMap],
    policy: Config,
    sync: SyncReport | None,
    sync_base: SyncReport | None,
) -> MapDiff:
    """What changed, by the base's policy; and since which upstream commit, where that moved."""
    from ciwm.opmap.diff import map_diff  # noqa: PLC0415

    diff = map_diff(*maps, policy.gate.block_on, policy.map.fallback_budget)
    moved = sync is not None and sync_base is not None and sync.merge_base != sync_base.merge_base
    since = f"upstream {sync.merge_base[:7]}" if sync is not None and moved else ""
    return diff.model_copy(update={"since": since, "changes": diff.changes[:SHOWN]})
