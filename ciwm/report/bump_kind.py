"""Whether a bump is a sync: it brings upstream commits in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.records import SyncReport


def upstream_commits(head: SyncReport, base: SyncReport | None) -> int:
    """How many upstream commits head has and base lacks; 0 where base is not known."""
    return max(0, base.behind.commits - head.behind.commits) if base is not None else 0
