"""Pushing runs: ours are put on top of whatever the remote has, as often as it takes.

All of it happens in a throw-away bare repository that borrows the user's objects: the user's refs,
configuration and shallow boundary stay as they are, and of the remote's history only the last
commit without its runs is downloaded.
"""

from __future__ import annotations

import random
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import StoreError
from ciwm.store.branch_remote import Remote, RemoteError, resolve_remote
from ciwm.store.branch_tree import commit_files, read_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ciwm.git import Repository

_ATTEMPTS = 20
_OUTAGE_ATTEMPTS = 3
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0


@dataclass(frozen=True)
class _Push:
    """One push: the throw-away repository, the branch, and our files by path."""

    scratch: Repository
    branch: str
    files: Mapping[str, str]
    remote: Remote


def push_files(
    repository: Repository,
    branch: str,
    files: Mapping[str, str],
    remote: str,
    token: str | None,
) -> None:
    """Bring these files (blob id by path) to the remote's branch.

    Tries again when another was quicker. Raises StoreError when the remote refuses, holds other
    content under one of the paths, or has a branch of this name that is not a store.
    """
    to = resolve_remote(repository, remote, token)
    with _scratch(repository) as scratch:
        push = _Push(scratch, branch, files, to)
        for attempt in range(_ATTEMPTS):
            try:
                if _pushed(push):
                    return
            except RemoteError as error:
                if error.kind != "unreachable" or attempt >= _OUTAGE_ATTEMPTS:
                    raise
            longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2**attempt)
            time.sleep(random.uniform(longest / 4, longest))
    raise StoreError(
        f"{branch} of {to.shown} moved {_ATTEMPTS} times while we pushed; the runs are kept here",
        "push again when fewer jobs do",
    )


def read_of_remote(
    repository: Repository,
    branch: str,
    remote: tuple[str, str | None],
    chosen: Callable[[Iterable[str]], list[str]],
) -> list[tuple[bytes, str]]:
    """The content of chosen files of a remote's branch, and what to call each in an error.

    Only these files are downloaded. Nothing where the remote has no such branch.
    """
    to = resolve_remote(repository, *remote)
    with _scratch(repository) as scratch:
        tip = to.fetch_tip(scratch, branch)
        if tip is None:
            return []
        label = f"{branch} of {to.shown}"
        blobs = read_tree(scratch, label, tip).blobs
        paths = chosen(blobs)
        to.bring(scratch, [blobs[path] for path in paths])
        return [
            (to.read(scratch, blobs[path], f"{path} of {label}"), f"{path} of {label}")
            for path in paths
        ]


def _pushed(push: _Push) -> bool:
    """One attempt: fetch, add what the remote lacks, push; False when another was quicker."""
    tip = push.remote.fetch_tip(push.scratch, push.branch)
    lacking = _lacking(push, tip)
    if not lacking:
        return True
    message = (
        f"Add run {Path(min(lacking)).stem}" if len(lacking) == 1 else (f"Add {len(lacking)} runs")
    )
    new = commit_files(push.scratch, tip, lacking, message)
    try:
        push.remote.push(push.scratch, new, push.branch)
    except RemoteError as error:
        if error.kind == "outrun":
            return False
        # a server may have other words for it, but its tip does not lie
        if error.kind == "refused" and push.remote.tip(push.scratch, push.branch) != tip:
            return False
        raise
    return True


def _lacking(push: _Push, tip: str | None) -> dict[str, str]:
    """Our files that the remote's tip has not."""
    if tip is None:
        return dict(push.files)
    label = f"{push.branch} of {push.remote.shown}"
    theirs = read_tree(push.scratch, label, tip).blobs
    for path, blob in push.files.items():
        if theirs.get(path, blob) != blob:
            raise StoreError(f"{path} of {label} (commit {tip[:12]}) holds another run of this id")
    return {path: blob for path, blob in push.files.items() if path not in theirs}


@contextmanager
def _scratch(repository: Repository) -> Iterator[Repository]:
    """A bare repository of our own that can read the user's objects and none of the user's refs."""
    objects = repository.path / repository.text("rev-parse", "--git-path", "objects")
    object_format = repository.text("rev-parse", "--show-object-format")
    with tempfile.TemporaryDirectory(prefix="ciwm-push-") as folder:
        bare = Path(folder)
        repository.run(
            "init", "-q", "--bare", "--template=", f"--object-format={object_format}", folder
        )
        information = bare / "objects" / "info"
        information.mkdir(parents=True, exist_ok=True)
        (information / "alternates").write_text(f"{objects.resolve()}\n", encoding="utf-8")
        yield repository.with_variables(GIT_DIR=folder)
