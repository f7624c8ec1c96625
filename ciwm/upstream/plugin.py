"""The sync report of a plugin: its pins, what it uses of upstream, and what drifted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.records.sync import Ahead, Behind, Downstream, Shape, SyncReport, Upstream
from ciwm.records.sync_drift import PinLane
from ciwm.upstream.classes import path_classifier
from ciwm.upstream.dates import committed_at, days_between
from ciwm.upstream.drift.compare import compared, merged, worlds_of
from ciwm.upstream.drift.extent import extent, unseen
from ciwm.upstream.drift.index import UNREAD, no_collection
from ciwm.upstream.drift.prepare import Prepared, prepare
from ciwm.upstream.drift.tree import GitTree
from ciwm.upstream.names import readable_text
from ciwm.upstream.pin_moves import pin_moved_back
from ciwm.upstream.pins import read_pin
from ciwm.upstream.reading import read
from ciwm.upstream.setting import repository_name
from ciwm.upstream.sources import Side, Source, find_source, folder_side

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ciwm.config import PinConfig, UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records.sync_gate import PinMove
    from ciwm.upstream.drift.compare import Compared
    from ciwm.upstream.drift.pair import Worlds

_EXAMPLE = 'pin = { file = ".upstream-commit" } and repository = "../upstream"'


@dataclass(frozen=True)
class Lane:
    """One pin: where it was read, and what it means."""

    name: str
    source: str
    side: Side
    moved_back: PinMove | None = None


def is_plugin(config: UpstreamConfig) -> bool:
    """Whether configuration makes this a plugin: it says so, or states a pin and no other style."""
    return config.style == "plugin" or (config.style is None and bool(config.lanes))


def plugin_report(
    repository: Repository,
    upstream: str | None,
    *,
    downstream: str = "HEAD",
    config: UpstreamConfig,
    now: datetime,
) -> SyncReport:
    """What the plugin uses of upstream, and what changed of it from each pin to `upstream`.

    Reads git objects and folders only; nothing is imported, checked out or fetched. `upstream` is
    a revision of upstream's clone or a folder. Raises UsageError for a pin or an upstream that is
    not here, GitError for a shallow clone.
    """
    offline = repository.from_top().without_fetching()
    if not config.lanes:
        raise UsageError(
            "a plugin needs a pin: which upstream is it made for?", f"[upstream] {_EXAMPLE}"
        )
    ours = offline.commit(downstream)
    root = repository.root or repository.common_directory
    source = find_source(offline, config, root)
    target = source.target(upstream, config, root)
    lanes = [
        _lane(offline, source, ours, (name, pin), config) for name, pin in config.lanes.items()
    ]
    path_class = path_classifier(config.classes)
    with no_collection():  # it would walk every summary again and again: a fifth of all time
        prepared = prepare(
            GitTree(offline, ours), [lane.side.tree for lane in lanes], target.tree, config.packages
        )
        results = _compared(prepared, lanes, lambda path: path_class(path) == "tests")
        told = Told(offline, (downstream, ours), target, lanes, prepared, results)
        return _assembled(told, now)


def _lane(
    repository: Repository,
    source: Source,
    ours: str,
    stated: tuple[str, PinConfig],
    config: UpstreamConfig,
) -> Lane:
    name, pin = stated
    if pin.folder is not None:
        root = repository.root or repository.common_directory
        return Lane(name, "folder", folder_side(root / pin.folder))
    found = read_pin(repository, ours, pin)
    package = pin.package or next(iter(config.packages), "")
    side = source.pinned(found, package)
    clone = source.repository  # there is one: pinned() asks for it
    back = pin_moved_back(repository, ours, pin, clone, package) if clone else None
    return Lane(name, found.source, side, back)


@dataclass(frozen=True)
class Result:
    """One lane's worlds and findings."""

    worlds: Worlds
    compared: Compared


@dataclass(frozen=True)
class Told:
    """Everything a report is made of; `downstream` is the ref and the commit it means."""

    repository: Repository
    downstream: tuple[str, str]
    target: Side
    lanes: list[Lane]
    prepared: Prepared
    results: dict[str, Result]


def _compared(
    prepared: Prepared, lanes: list[Lane], is_test: Callable[[str], bool]
) -> dict[str, Result]:
    results = {}
    for lane, index in zip(lanes, prepared.pins, strict=True):
        worlds = worlds_of(prepared.surface, index, prepared.target)
        results[lane.name] = Result(worlds, compared(prepared.surface, worlds, is_test))
    return results


def _assembled(told: Told, now: datetime) -> SyncReport:
    target, lanes, results = told.target, told.lanes, told.results
    first, (ref, ours) = lanes[0], told.downstream
    commits, first_parent = _distance(first.side, target)
    unread = _unread(told.prepared)
    notes = dict.fromkeys(note for result in results.values() for note in result.compared.notes)
    return SyncReport(
        generated_at=now,
        repository=repository_name(told.repository),
        upstream=Upstream(
            ref=readable_text(target.ref), sha=target.sha, committed_at=target.committed_at
        ),
        downstream=Downstream(
            ref=readable_text(ref),
            sha=ours,
            committed_at=committed_at(told.repository, (ours,))[ours],
        ),
        shape=Shape(style="plugin", evidence=_evidence(lanes, told.prepared)),
        merge_base=first.side.sha,
        merge_bases=tuple(dict.fromkeys(lane.side.sha for lane in lanes)),
        behind=Behind(
            commits=commits or 0,
            first_parent=first_parent or 0,
            days=days_between(first.side.committed_at, target.committed_at),
        ),
        ahead=Ahead(commits=int(told.repository.text("rev-list", "--count", ours))),
        carried=None,
        overlap=None,
        conflicts=None,
        partial=bool(unread),
        notes=(*unread, *_notes(lanes, target), *notes, *told.prepared.notes),
        surface=extent(told.prepared.surface, results[first.name].worlds),
        lanes=tuple(_lane_record(lane, target, results[lane.name].compared) for lane in lanes),
        drift=merged({name: result.compared.findings for name, result in results.items()}),
        unseen=unseen(told.prepared, results[first.name].worlds),
    )


def _unread(prepared: Prepared) -> tuple[str, ...]:
    """What of the sources was not here to be read."""
    indexes = (*prepared.pins, prepared.target)
    theirs = {path for index in indexes for path, why in index.unparsed.items() if why == UNREAD}
    ours = [path for path, why in prepared.surface.unparsed.items() if why == UNREAD]
    return tuple(
        f"the contents of {len(paths):,} files of {whose} are missing here: what changed in or for "
        "them is not told (a partial clone? --fetch-missing brings them)"
        for whose, paths in (("upstream", theirs), ("the plugin", ours))
        if paths
    )


def _evidence(lanes: list[Lane], prepared: Prepared) -> tuple[str, ...]:
    pinned = (
        f"{'pins' if lane.name == 'pin' else f'lane {lane.name} pins'} upstream at "
        f"{lane.side.ref[:40]} ({lane.source})"
        for lane in lanes
    )
    told = ", ".join(f"{name} in {folder}/" for name, folder in prepared.folders.items())
    return tuple(readable_text(each) for each in (*pinned, f"upstream's package: {told}"))


def _distance(pin: Side, target: Side) -> tuple[int | None, int | None]:
    """Upstream commits from the pin to the target, all and on the main line; None for folders."""
    if not isinstance(pin.tree, GitTree) or not isinstance(target.tree, GitTree):
        return None, None
    walk = ("rev-list", "--count", f"{pin.sha}..{target.sha}")
    counts = [
        read(target.tree.repository, *walk[:2], *more, walk[2]).text
        for more in ((), ("--first-parent",))
    ]
    return int(counts[0]), int(counts[1])


def _lane_record(lane: Lane, target: Side, found: Compared) -> PinLane:
    hard = sum(each.severity == "hard" for each in found.findings)
    return PinLane(
        name=lane.name,
        source=readable_text(lane.source),
        ref=readable_text(lane.side.ref),
        sha=lane.side.sha,
        committed_at=lane.side.committed_at,
        commits=_distance(lane.side, target)[0],
        days=days_between(lane.side.committed_at, target.committed_at),
        hard=hard,
        soft=len(found.findings) - hard,
        moved_back=lane.moved_back,
    )


def _notes(lanes: list[Lane], target: Side) -> tuple[str, ...]:
    notes = []
    for lane in lanes:
        if not isinstance(lane.side.tree, GitTree) or not isinstance(target.tree, GitTree):
            notes.append(
                f"the {lane.name} or the target is a folder: the number of commits between them is "
                "not known"
            )
            continue
        walk = ("rev-list", "--count", f"{target.sha}..{lane.side.sha}")
        beyond = int(read(target.tree.repository, *walk).text)
        if beyond:
            notes.append(
                f"{lane.name} ({lane.side.ref[:40]}) has {beyond} commits that the target lacks: a "
                "release branch, or a pin newer than the target"
            )
    return tuple(notes)
