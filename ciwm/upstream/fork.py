"""The sync report of a fork, from what git was asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import GitError
from ciwm.records.sync import Ahead, Behind, Carried, Overlap, SyncReport
from ciwm.upstream.culprits import with_culprits
from ciwm.upstream.dates import days_between
from ciwm.upstream.debt import additive, class_costs, deleted, intrusive
from ciwm.upstream.grafts import grafted
from ciwm.upstream.markers import with_markers
from ciwm.upstream.measure import LISTED_COMMITS, measure
from ciwm.upstream.names import readable_path
from ciwm.upstream.shape import fork_shape
from ciwm.upstream.states import attempt_states, with_states
from ciwm.upstream.syncs.section import with_history

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from ciwm.git import Repository
    from ciwm.records.sync import Downstream, Shape, Upstream
    from ciwm.upstream.measure import Measured
    from ciwm.upstream.shape import Ground

LISTED_PATHS = 5_000
NAMED_OBJECTS = 500


@dataclass(frozen=True)
class Told:
    """What a report says of its circumstances; `path_class` names the class of a path."""

    repository: str
    upstream: Upstream
    downstream: Downstream
    now: datetime
    path_class: Callable[[str], str]


@dataclass(frozen=True)
class Effort:
    """How long the costly parts may take; None: no past syncs at all. `url` is upstream's."""

    culprits_s: float = 0
    history_s: float | None = None
    url: str | None = None
    states: bool = True  # of each carried commit: upstreamed, likely, dead or live


def fork_report(
    repository: Repository, ground: Ground, told: Told, effort: Effort | None = None
) -> SyncReport:
    """The report on a downstream with a history to compare; see `report.sync_report`.

    `repository` fetches nothing and runs in its top folder.
    """
    effort = effort or Effort()
    with grafted(repository, ground.grafts) as joined:
        with joined.scratch_objects() as scratch:
            measured = measure(scratch, ground.pair, ground.merge_bases)
            with ThreadPoolExecutor(1) as pool:
                shape = pool.submit(fork_shape, scratch, ground, measured)
                states = attempt_states(scratch, measured) if effort.states else None
            report = assemble(measured, shape.result(), told)
            if states is not None:
                report = with_states(report, states)
            report = with_markers(scratch, measured, report)
        if effort.culprits_s > 0 and report.conflicts is not None:
            report = _with_culprits(joined, measured, report, effort)
        if effort.history_s is None:
            return report
        return with_history(joined, measured, report, effort.history_s)


def _with_culprits(
    offline: Repository, measured: Measured, report: SyncReport, effort: Effort
) -> SyncReport:
    if report.conflicts is None or report.partial:
        note = "culprits are not looked for where file contents are missing"
        return report.model_copy(update={"notes": (*report.notes, note)})
    try:
        found = with_culprits(offline, measured, report.conflicts, effort.culprits_s, effort.url)
    except GitError as error:
        note = f"culprits could not be looked for: {error.message}"
        return report.model_copy(update={"notes": (*report.notes, note)})
    notes = (*report.notes, *found.notes)
    return report.model_copy(update={"conflicts": found.conflicts, "notes": notes})


def assemble(measured: Measured, shape: Shape, told: Told) -> SyncReport:
    """The record of what was measured; lists are cut where a note says so."""
    pair, dates, contents = measured.pair, measured.dates, measured.contents
    own = measured.commits.history
    missing = contents.gaps.missing | measured.commits.missing
    carried = _carried(measured, told.path_class)
    conflicts = contents.merge.conflicts if contents.merge else None
    return SyncReport(
        generated_at=told.now,
        repository=told.repository,
        upstream=told.upstream,
        downstream=told.downstream,
        shape=shape,
        merge_base=measured.merge_bases[0],
        merge_bases=measured.merge_bases,
        behind=Behind(
            commits=len(own.upstream),
            first_parent=len(own.main_line(pair.upstream)),
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
    changes = measured.changes.downstream
    return Carried(
        commits=len(own.carried),
        upstreamed_commits=own.upstreamed,
        files=len(changes),
        binaries=sum(count.added is None for count in lines.values()),
        lines_added=sum(count.added or 0 for count in lines.values()),
        lines_removed=sum(count.removed or 0 for count in lines.values()),
        additive=additive(changes, lines),
        intrusive=intrusive(changes, lines),
        deleted=deleted(changes, lines),
        classes=class_costs(
            (change.path for change in changes),
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
