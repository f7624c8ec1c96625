"""The runs behind a trend: those of this machine whose head the base branch has in its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.store import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.config import Config
    from ciwm.git import Repository
    from ciwm.records import Run

RUNS = 12
_ANCESTORS = 5_000
_SHORT = 8  # of a commit's name in a run's id


def runs_before(
    repository: Repository,
    config: Config,
    base: str,
    machine: str,
    *,
    remote: tuple[str, str | None] | None,
) -> Sequence[Run]:
    """The newest runs of a machine on the way to `base`; raises StoreError.

    `remote` (a name and a token) is asked where the store is a branch that is not here.
    """
    known = set(repository.lines("rev-list", f"--max-count={_ANCESTORS}", base))
    shorts = {sha[:_SHORT] for sha in known}
    store = open_store(config.store.url, repository)
    found = store.newest(machine, RUNS, lambda run: run.rpartition("-")[2] in shorts, remote=remote)
    return [run for run in found if run.head.revision.sha in known and run.complete]
