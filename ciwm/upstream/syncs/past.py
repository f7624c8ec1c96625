"""The past syncs of a downstream: which merges they are, when they were made, what they brought."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.dates import committed_at
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ciwm.git import Repository
    from ciwm.upstream.history import History


class Sync(NamedTuple):
    """A merge, its parent of the downstream, and its parent of upstream."""

    merge: str
    ours: str
    theirs: str


@dataclass(frozen=True)
class PastSyncs:
    """All of them, newest first; `wide` merges, of more than two parents, are left out."""

    syncs: tuple[Sync, ...]
    dates: dict[str, datetime]
    wide: int = 0


def find_past_syncs(repository: Repository, history: History) -> PastSyncs:
    """Merges of the downstream with exactly one parent that upstream has, newest first."""
    own = history.downstream
    syncs, wide = [], 0
    for merge, parents in own.items():
        theirs = [parent for parent in parents if parent not in own]
        if len(parents) < 2 or len(theirs) != 1:  # noqa: PLR2004  a merge has two
            continue
        if len(parents) > 2:  # noqa: PLR2004
            wide += 1
            continue
        (ours,) = (parent for parent in parents if parent in own)
        syncs.append(Sync(merge, ours, theirs[0]))
    dates = committed_at(repository, sorted({sha for sync in syncs for sha in sync}))
    syncs.sort(key=lambda sync: dates[sync.merge], reverse=True)
    return PastSyncs(tuple(syncs), dates, wide)


def brought(repository: Repository, syncs: Sequence[Sync]) -> list[int]:
    """How many commits of upstream's main line came with each sync."""

    def count(sync: Sync) -> int:
        walk = ("rev-list", "--count", "--first-parent", sync.theirs, f"^{sync.ours}")
        return int(read(repository, *walk).text)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(count, syncs))


def commits_per_week(repository: Repository, upstream: str, weeks: int = 4) -> float:
    """Upstream's pace: commits of its main line in the last weeks before its tip, per week."""
    since = int(committed_at(repository, [upstream])[upstream].timestamp()) - weeks * 7 * 86400
    walk = ("rev-list", "--count", "--first-parent", f"--since=@{since}", upstream)
    return int(read(repository, *walk).text) / weeks
