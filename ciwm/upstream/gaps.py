"""What can still be said when file contents are missing: a partial clone, or a damaged object.

Paths whose contents are not all here are taken out of the merge base and both tips (as temporary
trees), and what is left is compared as usual.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.git import Repository
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ciwm.upstream.debt import Change

_IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "ciwm"), ("EMAIL", "ciwm@localhost"), ("DATE", "@0 +0000"))
}


@dataclass(frozen=True)
class Gaps:
    """Blobs that are not here, and the changed paths that need them."""

    missing: frozenset[str] = frozenset()
    paths: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Trio:
    """The three states a merge looks at: commits, or stand-ins for them."""

    base: str
    ours: str
    theirs: str


def find_gaps(
    scratch: Repository, changes: Iterable[Change], damaged: Collection[str] = ()
) -> Gaps:
    """The blobs of `changes` that are not here; `damaged` are known to be unreadable."""
    needed = [(change.path, blobs(change)) for change in changes]
    missing = missing_objects(scratch, {blob for _, ids in needed for blob in ids})
    missing |= set(damaged)
    paths = frozenset(path for path, ids in needed if ids & missing)
    return Gaps(frozenset(missing), paths)


def blobs(change: Change) -> set[str]:
    """The file contents on either side of a change; a submodule has none."""
    if change.submodule:
        return set()
    return {blob for blob in (change.old_id, change.new_id) if blob.strip("0")}


def missing_objects(scratch: Repository, ids: Iterable[str]) -> set[str]:
    """Those objects that are not here.

    Asked in an empty repository that borrows the objects (scratch objects have the variables for
    it): having no promisor remote, it makes no version of git try to fetch them.
    """
    asked = "".join(f"{object_id}\n" for object_id in sorted(ids)).encode()
    shape = scratch.run("rev-parse", "--show-object-format", check=False).text.strip() or "sha1"
    with tempfile.TemporaryDirectory(prefix="ciwm-check-") as folder:
        plain = Repository(Path(folder))
        plain.run("init", "--quiet", "--bare", "--template=", f"--object-format={shape}", ".")
        bare = scratch.with_variables(GIT_DIR=folder)
        lines = read(bare, "cat-file", "--batch-check", stdin=asked).text.splitlines()
    return {line.split(" ")[0] for line in lines if line.endswith(" missing")}


def without_paths(scratch: Repository, trio: Trio, paths: Collection[str]) -> Trio:
    """Stand-in commits for the three states, from which `paths` are taken out."""
    base, ours, theirs = (
        _tree_without(scratch, commit, paths) for commit in (trio.base, trio.ours, trio.theirs)
    )
    root = _commit(scratch, base)
    return Trio(root, _commit(scratch, ours, root), _commit(scratch, theirs, root))


def _tree_without(scratch: Repository, commit: str, paths: Collection[str]) -> str:
    with tempfile.TemporaryDirectory(prefix="ciwm-index-") as folder:
        index = scratch.with_variables(GIT_INDEX_FILE=str(Path(folder, "index")))
        plain = ("-c", "core.splitIndex=false", "-c", "core.fsmonitor=false")
        read(index, *plain, "read-tree", commit)
        removed = "".join(f"0 {'0' * len(commit)}\t{path}\0" for path in sorted(paths))
        stdin = removed.encode("utf-8", "surrogateescape")
        read(index, *plain, "update-index", "-z", "--index-info", stdin=stdin)
        return read(index, *plain, "write-tree", "--missing-ok").text.strip()


def _commit(scratch: Repository, tree: str, *parents: str) -> str:
    named = [part for parent in parents for part in ("-p", parent)]
    return read(
        scratch.with_variables(**_IDENTITY), "commit-tree", "-m", "stand-in", *named, tree
    ).text.strip()
