"""Past syncs made once more by git, and compared with what was recorded."""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from ciwm.errors import GitError
from ciwm.records.sync_history import PastSync
from ciwm.upstream.dates import days_between
from ciwm.upstream.debt import net_changes
from ciwm.upstream.gaps import Trio, find_gaps, without_paths
from ciwm.upstream.mainline.answers import merged_trees
from ciwm.upstream.names import readable_path
from ciwm.upstream.reading import MissingObjectError, read
from ciwm.upstream.syncs.markers import leftover_markers
from ciwm.upstream.syncs.past import brought

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository
    from ciwm.records.sync_history import SyncKind
    from ciwm.upstream.syncs.past import PastSyncs, Sync

SYNCS_AT_ONCE = 4
NAMED_FILES = 20
_TREES = re.compile(r"((?:[0-9a-f]{40}|[0-9a-f]{64}) (?:[0-9a-f]{40}|[0-9a-f]{64}))\n")


class Replayed(NamedTuple):
    """Those made in time, newest first, and the words of git on those it could not make."""

    syncs: list[PastSync]
    failed: dict[str, str]


def replay(
    repository: Repository, past: PastSyncs, syncs: Sequence[Sync], budget_s: float
) -> Replayed:
    """Make syncs again, in order, on every core, for about so many seconds.

    Where there are any seconds, the first few syncs are made in any case.
    """
    until = time.monotonic() + budget_s
    failed: dict[str, str] = {}

    def part(start: int) -> list[PastSync]:
        if time.monotonic() >= until and (start or not budget_s):
            return []
        return _replayed(repository, past, syncs[start : start + SYNCS_AT_ONCE], failed)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        parts = pool.map(part, range(0, len(syncs), SYNCS_AT_ONCE))
        return Replayed([sync for found in parts for sync in found], failed)


def _replayed(
    repository: Repository, past: PastSyncs, syncs: Sequence[Sync], failed: dict[str, str]
) -> list[PastSync]:
    """Some syncs from one process; each by itself where one makes git fail."""
    try:
        return _whole(repository, past, syncs)
    except GitError as error:
        if len(syncs) > 1:
            return [made for sync in syncs for made in _replayed(repository, past, [sync], failed)]
        try:
            return [_without_missing(repository, past, syncs[0], error)]
        except GitError as final:
            failed[syncs[0].merge] = final.message
            return []


def _whole(repository: Repository, past: PastSyncs, syncs: Sequence[Sync]) -> list[PastSync]:
    with repository.scratch_objects() as scratch:
        recorded = _trees(scratch, [sync.merge for sync in syncs])
        made = _made(scratch, [(sync.ours, sync.theirs) for sync in syncs], recorded)
    counts = brought(repository, syncs)
    return [
        _past_sync(repository, past, sync, again).model_copy(update={"upstream_commits": commits})
        for sync, again, commits in zip(syncs, made, counts, strict=True)
    ]


def _without_missing(
    repository: Repository, past: PastSyncs, sync: Sync, error: GitError
) -> PastSync:
    """A sync without the files whose contents are missing; raises what it was given if that fails.

    On the merge's own record they are left out as well, so that they do not count as edited. Where
    both sides changed one of them, a merge without conflicts is not known to have had none.
    """
    if not isinstance(error, MissingObjectError):
        raise error
    with repository.scratch_objects() as scratch:
        base = read(scratch, "merge-base", sync.ours, sync.theirs).text.strip()
        sides = [net_changes(scratch, base, sha) for sha in (sync.ours, sync.theirs, sync.merge)]
        gaps = find_gaps(scratch, [change for side in sides for change in side])
        if not gaps.paths:
            raise error
        rest = without_paths(scratch, Trio(base, sync.ours, sync.theirs), gaps.paths)
        record = without_paths(scratch, Trio(base, sync.ours, sync.merge), gaps.paths).theirs
        (again,) = _made(scratch, [(rest.ours, rest.theirs)], _trees(scratch, [record]))
    ours, theirs = ({change.path for change in side} for side in sides[:2])
    if not again.conflicting and gaps.paths & ours & theirs:
        raise error
    (commits,) = brought(repository, [sync])
    known = {"upstream_commits": commits, "unread_files": len(gaps.paths)}
    return _past_sync(repository, past, sync, again).model_copy(update=known)


class _Again(NamedTuple):
    """A merge as git makes it: what conflicts, and lines by file in which the record differs."""

    conflicting: list[str]
    same: bool
    edits: dict[str, int]

    @property
    def kind(self) -> SyncKind:
        if self.conflicting:
            return "conflict"
        return "clean" if self.same else "evil"


def _made(
    scratch: Repository, sides: Sequence[tuple[str, str]], recorded: Sequence[str]
) -> list[_Again]:
    asked = "".join(f"{ours} {theirs}\n" for ours, theirs in sides).encode()
    merged = merged_trees(scratch, asked)
    pairs = [(tree, record) for (tree, _), record in zip(merged, recorded, strict=True)]
    edits = _edits(scratch, pairs)
    return [
        _Again(paths, pair[0] == pair[1], edits.get(pair, {}))
        for (_, paths), pair in zip(merged, pairs, strict=True)
    ]


def _past_sync(repository: Repository, past: PastSyncs, sync: Sync, again: _Again) -> PastSync:
    outside = sorted(again.edits.keys() - set(again.conflicting))
    return PastSync(
        merge=sync.merge,
        merged_at=past.dates[sync.merge],
        upstream=sync.theirs,
        kind=again.kind,
        conflicted_files=len(again.conflicting),
        hand_files=len(again.edits),
        hand_lines=sum(again.edits.values()),
        upstream_commits=0,
        lag_days=days_between(past.dates[sync.theirs], past.dates[sync.merge]),
        outside=len(outside),
        outside_files=tuple(readable_path(path) for path in outside[:NAMED_FILES]),
        marker_files=leftover_markers(repository, sync, sorted({*again.edits, *again.conflicting})),
    )


def _trees(repository: Repository, shas: Sequence[str]) -> list[str]:
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    walk = ("rev-list", "--no-walk=unsorted", "--format=%T", "--stdin")
    return read(repository, *walk, stdin=asked).text.split("\n")[1::2]


def _edits(
    scratch: Repository, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, int]]:
    """For each pair of trees the files that differ, with their lines added and removed."""
    asked = "".join(f"{made} {recorded}\n" for made, recorded in dict.fromkeys(pairs)).encode()
    numstat = ("diff-tree", "--stdin", "-r", "--no-renames", "--numstat", "-z")
    edits: dict[tuple[str, str], dict[str, int]] = {}
    current: dict[str, int] = {}
    for field in read(scratch, *numstat, stdin=asked).text.split("\0"):
        rest = field
        while heading := _TREES.match(rest):
            made, recorded = heading[1].split(" ")
            current = edits.setdefault((made, recorded), {})
            rest = rest[heading.end() :]
        if rest:
            added, removed, path = rest.split("\t", 2)
            current[path] = 0 if added == "-" else int(added) + int(removed)
    return edits
