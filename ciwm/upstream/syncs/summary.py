"""Past syncs in a few figures."""

from __future__ import annotations

from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from ciwm.records.sync_history import SyncHistory
from ciwm.upstream.dates import days_between

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from ciwm.records.sync_history import PastSync
    from ciwm.upstream.syncs.past import PastSyncs


def summary(
    past: PastSyncs, replayed: Sequence[PastSync], now: datetime, notes: Iterable[str] = ()
) -> SyncHistory:
    """The figures of all past syncs, and of those replayed."""
    kinds = [sync.kind for sync in replayed]
    made_at = [past.dates[sync.merge] for sync in past.syncs]
    gaps = [days_between(older, newer) for newer, older in pairwise(made_at)]
    conflicting = [sync.conflicted_files for sync in replayed if sync.kind == "conflict"]
    return SyncHistory(
        total=len(past.syncs),
        replayed=len(replayed),
        clean=kinds.count("clean"),
        evil=kinds.count("evil"),
        conflict=kinds.count("conflict"),
        conflicted_files=sum(conflicting),
        conflicted_files_median=_middle(conflicting),
        conflicted_files_max=max(conflicting, default=0),
        hand_lines_median=_middle([sync.hand_lines for sync in replayed]),
        upstream_commits_median=_middle([sync.upstream_commits for sync in replayed]),
        lag_days_median=_middle([sync.lag_days for sync in replayed]),
        gap_days_median=_middle(gaps),
        gap_days_max=max(gaps, default=None),
        age_days=days_between(made_at[0], now) if made_at else None,
        marker_files=sum(len(sync.marker_files) for sync in replayed),
        edited_outside=sum(sync.kind == "conflict" and sync.outside > 0 for sync in replayed),
        notes=tuple(notes),
    )


def _middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None
