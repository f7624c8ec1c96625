"""The sync report of a fork, from what git was asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.records.sync import (
    Ahead,
    Behind,
    Carried,
    Downstream,
    Overlap,
    SyncReport,
    Upstream,
)
from ciwm.upstream.classes import path_classifier
from ciwm.upstream.dates import committed_at, days_between
from ciwm.upstream.debt import class_costs
from ciwm.upstream.grafts import grafted
from ciwm.upstream.measure import LISTED_COMMITS, measure
from ciwm.upstream.names import readable_path, readable_text
from ciwm.upstream.pair import find_pair
from ciwm.upstream.setting import repository_name
from ciwm.upstream.shape import find_ground, fork_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records.sync import Shape
    from ciwm.upstream.measure import Measured
    from ciwm.upstream.pair import Pair
    from ciwm.upstream.shape import Ground

_KINDS = {"fork": "fork", "plugin": "plugin", "patches": "patch queue"}
LISTED_PATHS = 5_000
NAMED_OBJECTS = 500


def sync_report(
    repository: Repository,
    upstream: str | None,
    *,
    downstream: str = "HEAD",
    config: UpstreamConfig,
    now: datetime,
) -> SyncReport:
    """What `downstream` carries and what merging `upstream` would cost.

    Reads only: no ref, index, work tree, configuration or object store changes, and nothing is
    fetched. Raises UsageError for revisions that cannot be compared, GitError for a shallow clone
    or a history that cannot be read; missing file contents make the report partial instead.
    """
    path_class = path_classifier(config.classes)
    offline = repository.from_top().without_fetching()
    pair = find_pair(offline, upstream, downstream, config)
    ground = find_ground(offline, pair, config)
    if ground.style != "fork":
        raise _only_forks(ground)
    with grafted(offline, ground.grafts) as joined, joined.scratch_objects() as scratch:
        measured = measure(scratch, ground.pair)
        shape = fork_shape(scratch, ground, measured)
    told = Told(repository_name(offline), _revisions(offline, pair), shape, now)
    return assemble(measured, path_class, told)


def _only_forks(ground: Ground) -> UsageError:
    because = "; ".join(readable_text(line) for line in ground.evidence)
    return UsageError(
        f"{ground.pair.downstream_ref} is a {_KINDS[ground.style]} ({because}): "
        "only forks can be reported on so far",
        "if it is a fork with a history of its own, name the upstream commit it was made from: "
        '[upstream] synced_to = "SHA"',
    )


@dataclass(frozen=True)
class Told:
    """What a report says of its circumstances."""

    repository: str
    revisions: tuple[Upstream, Downstream]
    shape: Shape
    now: datetime


def _revisions(repository: Repository, pair: Pair) -> tuple[Upstream, Downstream]:
    dates = committed_at(repository, (pair.upstream, pair.downstream))
    upstream, downstream = pair.upstream, pair.downstream
    return (
        Upstream(ref=readable_text(pair.upstream_ref), sha=upstream, committed_at=dates[upstream]),
        Downstream(
            ref=readable_text(pair.downstream_ref), sha=downstream, committed_at=dates[downstream]
        ),
    )


def assemble(measured: Measured, path_class: Callable[[str], str], told: Told) -> SyncReport:
    """The record of what was measured; lists are cut where a note says so."""
    pair, dates, contents = measured.pair, measured.dates, measured.contents
    own = measured.commits.history
    missing = contents.gaps.missing | measured.commits.missing
    carried = _carried(measured, path_class)
    conflicts = contents.merge.conflicts if contents.merge else None
    return SyncReport(
        generated_at=told.now,
        repository=told.repository,
        upstream=told.revisions[0],
        downstream=told.revisions[1],
        shape=told.shape,
        merge_base=measured.merge_bases[0],
        merge_bases=measured.merge_bases,
        behind=Behind(
            commits=len(own.upstream),
            first_parent=own.main_line(pair.upstream),
            days=days_between(dates[measured.merge_bases[0]], dates[pair.upstream]),
        ),
        ahead=Ahead(commits=len(own.downstream)),
        carried=carried,
        overlap=_overlap(measured),
        conflicts=conflicts,
        partial=bool(missing) or None in (carried, conflicts),
        missing_objects=tuple(sorted(missing)[:NAMED_OBJECTS]),
        notes=_notes(measured, missing),
    )


def _carried(measured: Measured, path_class: Callable[[str], str]) -> Carried | None:
    own, lines = measured.commits.history, measured.contents.lines
    if measured.changes is None or measured.commits.note or lines is None:
        return None
    return Carried(
        commits=len(own.carried),
        upstreamed_commits=own.upstreamed,
        files=len(measured.changes.downstream),
        binaries=sum(count.added is None for count in lines.values()),
        lines_added=sum(count.added or 0 for count in lines.values()),
        lines_removed=sum(count.removed or 0 for count in lines.values()),
        classes=class_costs(
            (change.path for change in measured.changes.downstream),
            lines,
            path_class,
        ),
        list=measured.listed,
    )


def _overlap(measured: Measured) -> Overlap | None:
    if measured.changes is None:
        return None
    both = measured.changes.both
    return Overlap(
        files=len(both), paths=tuple(readable_path(path) for path in both[:LISTED_PATHS])
    )


def _notes(measured: Measured, missing: Collection[str]) -> tuple[str, ...]:
    notes = [*measured.notes, *measured.contents.notes]
    commits, gaps, changes = measured.commits, measured.contents.gaps, measured.changes
    if gaps.paths:
        both = set(changes.both if changes else ()) & gaps.paths
        notes.append(
            f"the contents of {len(gaps.paths)} changed files are missing or damaged: carried "
            f"lines and the trial merge leave them out ({len(both)} of them changed on both sides)"
        )
    if commits.unread:
        notes.append(
            f"{commits.unread} commits cannot be compared with upstream's, for want of contents; "
            "they count as carried"
        )
    if commits.note:
        notes.append(commits.note)
    if len(commits.history.carried) > LISTED_COMMITS:
        notes.append(f"only the newest {LISTED_COMMITS} of the carried commits are listed")
    if changes and len(changes.both) > LISTED_PATHS:
        notes.append(f"only the first {LISTED_PATHS} of the files changed on both sides are listed")
    if len(missing) > NAMED_OBJECTS:
        notes.append(f"only {NAMED_OBJECTS} of {len(missing)} missing objects are named")
    return tuple(notes)
