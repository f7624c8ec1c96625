"""Patch ids where `git rev-list --cherry-mark` gives up: some file contents are missing.

Two patches can only be equal when they touch the same paths, and paths are known from trees. So
contents are read only where paths agree, and a patch that cannot be read counts as carried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.commit_changes import commit_changes
from ciwm.upstream.gaps import blobs, missing_objects
from ciwm.upstream.history import History, history, plain
from ciwm.upstream.reading import DAMAGED_AT_MOST, MissingObjectError, read

if TYPE_CHECKING:
    from collections.abc import Collection

    from ciwm.git import Repository
    from ciwm.upstream.pair import Pair


class Compared(NamedTuple):
    """The two sides' commits, and what stood in the way of comparing their patches.

    `unread` downstream commits could not be compared; with a `note`, none could.
    """

    history: History
    unread: int = 0
    missing: frozenset[str] = frozenset()
    note: str = ""


class _Patch(NamedTuple):
    paths: frozenset[str]
    blobs: frozenset[str]


def compared_history(
    repository: Repository, pair: Pair, damaged: frozenset[str] = frozenset()
) -> Compared:
    """The two sides' commits with equal patches marked, as far as contents are here.

    `damaged` are objects that are here but were found unreadable.
    """
    try:
        if not damaged:
            return Compared(history(repository, pair))
        return _partly_compared(repository, history(repository, pair, compared=False), damaged)
    except MissingObjectError as error:
        if error.object_id in damaged or len(damaged) == DAMAGED_AT_MOST:
            note = f"carried commits cannot be told from upstreamed ones: {error.message}"
            plainly = history(repository, pair, compared=False)
            return Compared(plainly, 0, frozenset({error.object_id}), note)
        return compared_history(repository, pair, damaged | {error.object_id})


def _partly_compared(repository: Repository, sides: History, damaged: frozenset[str]) -> Compared:
    theirs, ours = plain(sides.upstream), plain(sides.downstream)
    patches = _patches(repository, [*theirs, *ours])
    alike = _alike(theirs, ours, patches)
    missing = missing_objects(repository, {blob for sha in alike for blob in patches[sha].blobs})
    missing |= damaged
    whole = {sha for sha in alike if not patches[sha].blobs & missing}
    ids = patch_ids(repository, whole)
    shared = {ids[sha] for sha in theirs if sha in ids} & {ids[sha] for sha in ours if sha in ids}
    equal = frozenset(sha for sha, patch_id in ids.items() if patch_id in shared)
    unread = sum(sha in alike and sha not in whole for sha in ours)
    known = History(sides.upstream, sides.downstream, equal)
    return Compared(known, unread, frozenset(missing))


def _alike(theirs: list[str], ours: list[str], patches: dict[str, _Patch]) -> set[str]:
    """Commits of either side that touch exactly the paths some commit of the other touches."""
    touched = [{patches[sha].paths for sha in side if sha in patches} for side in (theirs, ours)]
    shared = touched[0] & touched[1]
    return {sha for sha, patch in patches.items() if patch.paths in shared}


def _patches(repository: Repository, shas: Collection[str]) -> dict[str, _Patch]:
    """Paths and blobs each commit changes; an empty commit has none."""
    return {
        sha: _Patch(
            frozenset(change.path for change in changes),
            frozenset().union(*(blobs(change) for change in changes)),
        )
        for sha, changes in commit_changes(repository, shas).items()
    }


def patch_ids(repository: Repository, shas: Collection[str]) -> dict[str, str]:
    """Patch ids as `git patch-id` computes them from each commit's diff."""
    diffs = read(
        repository,
        *("diff-tree", "--stdin", "-p", "--no-renames", "--root", "--no-ext-diff", "--no-textconv"),
        stdin="".join(f"{sha}\n" for sha in sorted(shas)).encode(),
    )
    found = read(repository, "patch-id", "--stable", stdin=diffs.stdout)
    pairs = (line.split(" ") for line in found.text.splitlines())
    return {sha: patch_id for patch_id, sha in pairs}
