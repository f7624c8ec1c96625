"""Commits on a store's branch, read and made by plumbing: no work tree, no index of the user's."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import GitError, StoreError
from ciwm.store.runfile import MARKER, MARKER_BYTES, README, README_BYTES, check_marker, check_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.git import Repository

# no hook of the user's runs on our own branch, and nobody need have an identity to store a run
_OURS = {
    "GIT_AUTHOR_NAME": "ciwm",
    "GIT_AUTHOR_EMAIL": "ciwm@noreply.invalid",
    "GIT_COMMITTER_NAME": "ciwm",
    "GIT_COMMITTER_EMAIL": "ciwm@noreply.invalid",
}
# what git says when another writer was quicker, or is at it right now
_TAKEN = ("but expected", "reference already exists", ".lock': File exists")
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")


@dataclass(frozen=True)
class BranchTree:
    """The store's files as of one commit: blob ids by path."""

    label: str
    commit: str
    blobs: Mapping[str, str]


def read_tree(repository: Repository, label: str, commit: str) -> BranchTree:
    """The files at a commit that `label` names; raises StoreError unless they are a store's."""
    source = f"{label} (commit {commit[:12]})"
    listed = repository.run("ls-tree", "-r", "-z", "--full-tree", commit, check=False)
    if listed.status != 0:
        raise StoreError(f"{source} is unreadable: {_words(listed.stderr)}", "see: git fsck")
    found: dict[str, str] = {}
    for entry in listed.text.split("\0")[:-1]:
        attributes, path = entry.split("\t", 1)
        found[path] = attributes.split()[2]
    marker = found.get(MARKER)
    check_marker(
        None if marker is None else read_blob(repository, marker, f"{MARKER} of {source}"), source
    )
    return BranchTree(label, commit, {path: found[path] for path in check_paths(found, source)})


def read_blob(repository: Repository, blob: str, source: str) -> bytes:
    """The content of one file that `source` names; raises StoreError when git cannot read it."""
    shown = repository.run("cat-file", "blob", blob, check=False)
    if shown.status != 0:
        raise StoreError(f"{source} is unreadable: {_words(shown.stderr)}", "see: git fsck")
    return shown.stdout


def write_blob(repository: Repository, data: bytes) -> str:
    """Put a file's content into the object store and return its id."""
    return repository.run("hash-object", "-w", "--stdin", stdin=data).text.strip()


def commit_files(
    repository: Repository, parent: str | None, blobs: Mapping[str, str], message: str
) -> str:
    """A new commit on `parent` (none: a first one, with the marker) with these files added."""
    with tempfile.TemporaryDirectory(prefix="ciwm-index-") as folder:
        private = repository.with_variables(GIT_INDEX_FILE=str(Path(folder) / "index"), **_OURS)
        if parent is None:
            blobs = {
                MARKER: write_blob(repository, MARKER_BYTES),
                README: write_blob(repository, README_BYTES),
                **blobs,
            }
        else:
            private.run("read-tree", parent)
        entries = "".join(f"100644 {blob}\t{path}\0" for path, blob in sorted(blobs.items()))
        private.run("update-index", "-z", "--index-info", stdin=entries.encode())
        # the other runs' files need not be here (a partial clone), and are not looked at
        tree = private.text("write-tree", "--missing-ok")
        parents = () if parent is None else ("-p", parent)
        return private.text("commit-tree", tree, *parents, "-m", message)


def move_branch(repository: Repository, branch: str, new: str, old: str | None) -> bool:
    """Set the branch to `new` if it is still at `old` (None: absent); False when it is not."""
    expected = old if old is not None else "0" * len(new)
    reference = f"refs/heads/{branch}"
    moved = repository.run(
        *_NO_HOOKS, "update-ref", "-m", "ciwm: add a run", reference, new, expected, check=False
    )
    if moved.status == 0:
        return True
    if any(words in moved.stderr for words in _TAKEN):
        return False
    raise GitError(f"cannot write {reference}: {_words(moved.stderr)}")


def _words(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return lines[0] if lines else "git says nothing"
