"""Where runs are kept: an orphan git branch, or a directory; one immutable file a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from ciwm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ciwm.git import Repository
    from ciwm.records import Calibration, Run

_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")


class Store(Protocol):
    """Kept runs. What cannot be read raises StoreError and is never an empty history."""

    def add(self, run: Run) -> str:
        """Keep a run and return its path in the store; adding the same run again changes nothing.

        Raises StoreError when another run has this id, or nothing can be written.
        """

    def runs(self) -> Iterator[Run]:
        """All kept runs, by month, machine and id; raises StoreError naming what it cannot read."""

    def newest(
        self,
        machine: str,
        limit: int,
        wanted: Callable[[str], bool],
        *,
        remote: tuple[str, str | None] | None = None,
    ) -> tuple[Run, ...]:
        """At most so many of the newest runs of a machine with a wanted id, oldest first.

        `remote` (a name and a token) is asked for them where the store is not here.
        """

    def add_calibration(self, calibration: Calibration) -> str:
        """Keep a calibration and return its path, as `add` does a run."""

    def calibrations(self) -> Iterator[Calibration]:
        """All kept calibrations, by month, machine and id, as `runs` does runs."""

    def push(self, remote: str, token: str | None) -> None:
        """Bring to `remote` the runs it lacks; the only method that touches the network.

        Raises StoreError when the remote refuses.
        """


def open_store(url: str, repository: Repository) -> Store:
    """The store a configuration names: `git:BRANCH`, or `dir:PATH` (relative to the checkout)."""
    kind, _, place = url.partition(":")
    if kind == "git" and _BRANCH.fullmatch(place) and not _is_refused_by_git(place):
        from ciwm.store.git_branch import GitBranchStore  # noqa: PLC0415  only the store in use

        return GitBranchStore(repository, place)
    if kind == "dir" and place:
        from ciwm.store.directory import DirectoryStore  # noqa: PLC0415

        return DirectoryStore(repository.path / place)
    raise ConfigError(
        f"[store] url is {url!r}, which names no store", "use git:ciwm-data, or dir:some/folder"
    )


def _is_refused_by_git(branch: str) -> bool:
    """What `git check-ref-format --branch` would refuse of names made of the plain characters."""
    parts = branch.split("/")
    return ".." in branch or any(
        not part or part.startswith(".") or part.endswith((".lock", ".")) for part in parts
    )
