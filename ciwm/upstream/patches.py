"""Patch ids where `git rev-list --cherry-mark` gives up: some file contents are missing.

Two patches can only be equal when they touch the same paths, and paths are known from trees. So
contents are read only where paths agree, and a patch that cannot be read counts as carried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.debt import DESCRIBED, OwnCommits, carried_commit, own_commits
from ciwm.upstream.gaps import missing_objects
from ciwm.upstream.reading import DAMAGED_AT_MOST, MissingObjectError, read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ciwm.git import Repository
    from ciwm.upstream.pair import Pair


class SplitCommits(NamedTuple):
    """The downstream's commits; `own` is None when not even their trees can be read."""

    own: OwnCommits | None
    unread: int = 0
    missing: frozenset[str] = frozenset()
    note: str = ""


class _Patch(NamedTuple):
    paths: frozenset[str]
    blobs: frozenset[str]


def split_commits(
    repository: Repository, pair: Pair, damaged: frozenset[str] = frozenset()
) -> SplitCommits:
    """The downstream's non-merge commits, carried or upstreamed, as far as contents are here.

    `damaged` are objects that are here but were found unreadable.
    """
    try:
        if not damaged:
            return SplitCommits(own_commits(repository, pair))
        return _readable_commits(repository, pair, damaged)
    except MissingObjectError as error:
        if error.object_id in damaged or len(damaged) == DAMAGED_AT_MOST:
            return _unreadable(error)
        return split_commits(repository, pair, damaged | {error.object_id})


def _unreadable(error: MissingObjectError) -> SplitCommits:
    note = f"carried commits cannot be told from upstreamed ones: {error.message}"
    return SplitCommits(None, 0, frozenset({error.object_id}), note)


def _readable_commits(repository: Repository, pair: Pair, damaged: frozenset[str]) -> SplitCommits:
    sides = _sides(repository, pair)
    patches = _patches(repository, [*sides["<"], *sides[">"]])
    alike = _alike(sides, patches)
    missing = missing_objects(repository, {blob for sha in alike for blob in patches[sha].blobs})
    missing |= damaged
    whole = {sha for sha in alike if not patches[sha].blobs & missing}
    ids = _patch_ids(repository, whole)
    upstream_ids = {ids[sha] for sha in sides["<"] if sha in ids}
    upstreamed = {sha for sha in sides[">"] if ids.get(sha) in upstream_ids}
    unread = sum(sha in alike and sha not in whole for sha in sides[">"])
    return SplitCommits(_own_commits(sides[">"], upstreamed), unread, frozenset(missing))


def _alike(sides: dict[str, dict[str, str]], patches: dict[str, _Patch]) -> set[str]:
    """Commits of either side that touch exactly the paths some commit of the other touches."""
    touched = [{patches[sha].paths for sha in side if sha in patches} for side in sides.values()]
    shared = touched[0] & touched[1]
    return {sha for sha, patch in patches.items() if patch.paths in shared}


def _own_commits(described: dict[str, str], upstreamed: Collection[str]) -> OwnCommits:
    carried = (
        carried_commit(sha, line) for sha, line in described.items() if sha not in upstreamed
    )
    return OwnCommits(tuple(carried), len(upstreamed))


def _sides(repository: Repository, pair: Pair) -> dict[str, dict[str, str]]:
    """Non-merge commits of each side, newest first, with their description."""
    found = read(repository, "rev-list", "--left-right", "--no-merges", *DESCRIBED, pair.sides)
    lines = found.text.split("\n")[:-1]
    sides: dict[str, dict[str, str]] = {"<": {}, ">": {}}
    for head, line in zip(lines[0::2], lines[1::2], strict=True):
        mark = head.removeprefix("commit ")
        sides[mark[0]][mark[1:]] = line
    return sides


def _patches(repository: Repository, shas: Collection[str]) -> dict[str, _Patch]:
    """Paths and blobs each commit changes; an empty commit has none."""
    found = read(
        repository,
        *("diff-tree", "--stdin", "-r", "--raw", "--no-renames", "--no-abbrev", "--root", "-z"),
        stdin="".join(f"{sha}\n" for sha in shas).encode(),
    )
    fields = iter(found.text.split("\0")[:-1])
    return {
        sha: _Patch(frozenset(paths), frozenset(blobs)) for sha, paths, blobs in _grouped(fields)
    }


def _grouped(fields: Iterator[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each commit id with the paths and blobs of the raw entries that follow it."""
    current: tuple[str, list[str], list[str]] | None = None
    for entry in fields:
        if not entry.startswith(":"):
            if current is not None:
                yield current
            current = (entry, [], [])
        elif current is not None:
            modes_and_ids = entry[1:].split(" ")
            current[1].append(next(fields))
            if "160000" not in modes_and_ids[:2]:
                current[2].extend(blob for blob in modes_and_ids[2:4] if blob.strip("0"))
    if current is not None:
        yield current


def _patch_ids(repository: Repository, shas: Collection[str]) -> dict[str, str]:
    """Patch ids as `git patch-id` computes them from each commit's diff."""
    diffs = read(
        repository,
        *("diff-tree", "--stdin", "-p", "--no-renames", "--root", "--no-ext-diff", "--no-textconv"),
        stdin="".join(f"{sha}\n" for sha in sorted(shas)).encode(),
    )
    found = read(repository, "patch-id", "--stable", stdin=diffs.stdout)
    pairs = (line.split(" ") for line in found.text.splitlines())
    return {sha: patch_id for patch_id, sha in pairs}
