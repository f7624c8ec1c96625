"""The sync report of a fork, from what git was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.records.sync import (
    Ahead,
    Behind,
    Carried,
    Downstream,
    Overlap,
    Shape,
    SyncReport,
    Upstream,
)
from ciwm.upstream.classes import path_classifier
from ciwm.upstream.dates import days_between
from ciwm.upstream.debt import class_costs
from ciwm.upstream.measure import LISTED_COMMITS, measure
from ciwm.upstream.names import readable_path, readable_text
from ciwm.upstream.pair import find_pair
from ciwm.upstream.plugin import is_plugin, plugin_report
from ciwm.upstream.setting import repository_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.upstream.measure import Measured

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
    if is_plugin(config):
        return plugin_report(repository, upstream, downstream=downstream, config=config, now=now)
    if config.style not in (None, "fork"):
        raise UsageError(
            f'[upstream] style = "{config.style}": forks and plugins can be reported on so far',
            "leave style out for a downstream that shares history with upstream",
        )
    path_class = path_classifier(config.classes)
    offline = repository.from_top().without_fetching()
    pair = find_pair(offline, upstream, downstream, config)
    with offline.scratch_objects() as scratch:
        measured = measure(scratch, pair)
    return assemble(measured, path_class, repository=repository_name(offline), now=now)


def assemble(
    measured: Measured, path_class: Callable[[str], str], *, repository: str, now: datetime
) -> SyncReport:
    """The record of what was measured; lists are cut where a note says so."""
    pair, dates, contents = measured.pair, measured.dates, measured.contents
    own = measured.commits.history
    missing = contents.gaps.missing | measured.commits.missing
    carried = _carried(measured, path_class)
    conflicts = contents.merge.conflicts if contents.merge else None
    return SyncReport(
        generated_at=now,
        repository=repository,
        upstream=Upstream(
            ref=readable_text(pair.upstream_ref),
            sha=pair.upstream,
            committed_at=dates[pair.upstream],
        ),
        downstream=Downstream(
            ref=readable_text(pair.downstream_ref),
            sha=pair.downstream,
            committed_at=dates[pair.downstream],
        ),
        shape=_shape(measured),
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


def _shape(measured: Measured) -> Shape:
    base = measured.merge_bases[0]
    return Shape(
        style="fork",
        evidence=(
            f"shares history with upstream up to {base[:12]} ({measured.dates[base]:%Y-%m-%d})",
        ),
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
