"""A store in an orphan branch, which touches neither work tree nor index of the user's."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from ciwm.errors import NotFetchedError, StoreError
from ciwm.records import Calibration, Run
from ciwm.store.branch_push import push_files, read_of_remote
from ciwm.store.branch_tree import (
    BranchTree,
    commit_files,
    move_branch,
    read_blob,
    read_tree,
    write_blob,
)
from ciwm.store.runfile import CALIBRATIONS, RUNS, decode, encode, newest_paths, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ciwm.git import Repository
    from ciwm.store.runfile import Kept

_ATTEMPTS = 40
_LONGEST_WAIT_S = 0.5


class GitBranchStore:
    """Runs as files of a branch; several processes may add and push at once."""

    def __init__(self, repository: Repository, branch: str) -> None:
        # no transport: an object that a partial clone left out is an error, not a download
        self.repository = repository.with_variables(GIT_ALLOW_PROTOCOL="ciwm-fetches-nothing")
        self.branch = branch

    def add(self, run: Run) -> str:
        """Keep a run; see Store. Compares and swaps, so that two writers both succeed."""
        return self._keep(run)

    def add_calibration(self, calibration: Calibration) -> str:
        """Keep a calibration; see Store."""
        return self._keep(calibration)

    def _keep(self, kept: Kept) -> str:
        path = path_of(kept)
        blob = write_blob(self.repository, encode(kept))
        self._refuse_checked_out()
        for attempt in range(_ATTEMPTS):
            local = self._local()
            if self._holds(local or self._fetched(), path, blob):
                return path
            start = local or self._fetched()
            parent = start.commit if start else None
            new = commit_files(self.repository, parent, {path: blob}, f"Add run {kept.id}")
            if move_branch(self.repository, self.branch, new, local.commit if local else None):
                return path
            time.sleep(random.uniform(0, min(_LONGEST_WAIT_S, 0.01 * 2**attempt)))
        raise StoreError(
            f"branch {self.branch} could not be moved in {_ATTEMPTS} attempts",
            f"is there a stale {self.branch}.lock under .git/refs/heads?",
        )

    def runs(self) -> Iterator[Run]:
        """All runs of the branch, here and as last fetched; see Store."""
        for data, source in self._blobs(RUNS):
            yield decode(data, Run, source)

    def newest(
        self,
        machine: str,
        limit: int,
        wanted: Callable[[str], bool],
        *,
        remote: tuple[str, str | None] | None = None,
    ) -> tuple[Run, ...]:
        """The newest runs of a machine; see Store."""

        def chosen(paths: Iterable[str]) -> list[str]:
            return newest_paths(paths, machine, limit, wanted)

        trees = [tree for tree in (self._local(), self._fetched()) if tree]
        if not trees and remote is not None:
            read = read_of_remote(self.repository, self.branch, remote, chosen)
            return tuple(decode(data, Run, source) for data, source in read)
        joined = _joined(trees)
        return tuple(
            decode(read_blob(self.repository, *joined[path]), Run, joined[path][1])
            for path in chosen(joined)
        )

    def calibrations(self) -> Iterator[Calibration]:
        """All calibrations of the branch, here and as last fetched; see Store."""
        for data, source in self._blobs(CALIBRATIONS):
            yield decode(data, Calibration, source)

    def _blobs(self, kind: str) -> Iterator[tuple[bytes, str]]:
        trees = [tree for tree in (self._local(), self._fetched()) if tree]
        if not trees and self.repository.lines("remote"):
            raise NotFetchedError(
                f"branch {self.branch} is neither here nor fetched, so its runs cannot be read",
                f"git fetch origin {self.branch}:refs/remotes/origin/{self.branch} "
                "(no such branch there means that no run was ever pushed)",
            )
        for path, (blob, source) in sorted(_joined(trees).items()):
            if path.startswith(f"{kind}/"):
                yield read_blob(self.repository, blob, source), source

    def push(self, remote: str, token: str | None) -> None:
        """Bring our runs to the remote's branch; see Store."""
        local = self._local()
        if local is not None and local.blobs:
            push_files(self.repository, self.branch, local.blobs, remote, token)

    def _local(self) -> BranchTree | None:
        return self._tree(f"refs/heads/{self.branch}", f"branch {self.branch}")

    def _fetched(self) -> BranchTree | None:
        """The branch as last fetched from a remote, origin before others."""
        remotes = sorted(self.repository.lines("remote"), key=lambda name: (name != "origin", name))
        for remote in remotes:
            label = f"{remote}/{self.branch}"
            tree = self._tree(f"refs/remotes/{label}", label)
            if tree is not None:
                return tree
        return None

    def _tree(self, reference: str, label: str) -> BranchTree | None:
        found = self.repository.run("rev-parse", "--verify", "--quiet", reference, check=False)
        if found.status != 0:
            return None
        return read_tree(self.repository, label, found.text.strip())

    def _holds(self, tree: BranchTree | None, path: str, blob: str) -> bool:
        if tree is None or path not in tree.blobs:
            return False
        if tree.blobs[path] != blob:
            raise StoreError(f"{path} of {tree.label} holds another run of this id")
        return True

    def _refuse_checked_out(self) -> None:
        """Moving a branch under someone's work tree would make that tree look edited."""
        for line in self.repository.lines("worktree", "list", "--porcelain"):
            if line == f"branch refs/heads/{self.branch}":
                raise StoreError(
                    f"branch {self.branch} is checked out, and ciwm keeps its runs there",
                    "check out another branch: git switch -",
                )


def _joined(trees: list[BranchTree]) -> dict[str, tuple[str, str]]:
    """Blob and source by path; raises StoreError when two trees differ on an immutable file."""
    joined: dict[str, tuple[str, str]] = {}
    for tree in trees:
        for path, blob in tree.blobs.items():
            source = f"{path} of {tree.label} (commit {tree.commit[:12]})"
            known = joined.setdefault(path, (blob, source))
            if known[0] != blob:
                raise StoreError(f"{known[1]} and {source} differ, and a run never changes")
    return joined
