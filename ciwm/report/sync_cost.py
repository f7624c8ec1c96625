"""The sync in the first lines of a comment: what head brought in, and what is ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.bump_kind import upstream_commits
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from ciwm.records import SyncReport


def brought_in(sync: SyncReport | None, base: SyncReport | None) -> str:
    """What head merged of upstream, or that there is nothing left to merge; else empty."""
    if sync is None:
        return ""
    brought = upstream_commits(sync, base)
    if not brought:
        return "" if sync.behind.commits else "Up to date with upstream"
    told = f"Brings in {plural(brought, 'upstream commit')}"
    if sync.surface is not None:
        return f"{told}, which break {_broken(base or sync)} of what the plugin uses"
    if resolved := resolved_files(sync, base):
        return f"{told}, with conflicts in {plural(resolved, 'file')} resolved"
    clean = base is not None and base.conflicts is not None and not base.conflicts.count
    return f"{told} without conflicts" if clean else told


def resolved_files(sync: SyncReport | None, base: SyncReport | None) -> int:
    """How many files conflicted with upstream at base and no longer do at head, which merged."""
    if sync is None or base is None or base.conflicts is None or not upstream_commits(sync, base):
        return 0
    if not sync.behind.commits:
        return base.conflicts.count
    return max(0, base.conflicts.count - sync.conflicts.count) if sync.conflicts else 0


def forecast(sync: SyncReport | None, base: SyncReport | None) -> str:
    """What merging upstream as it is today into head would meet; empty where nothing would."""
    if sync is None or not sync.behind.commits:
        return ""
    if sync.surface is not None:
        broken = any(one.severity == "hard" for one in sync.drift)
        told = f"moving the pin to today's upstream would break {_broken(sync)}"
        return f"{told} of what the plugin uses" if broken else ""
    if sync.conflicts is None:
        commits = plural(sync.behind.commits, "commit")
        return f"whether merging upstream today ({commits}) would conflict is not known"
    if not sync.conflicts.count:
        return ""
    before = ""
    if base is not None and base.conflicts is not None:
        before = f" (before this change: {base.conflicts.count:,})"
    return (
        f"merging upstream today would conflict in {plural(sync.conflicts.count, 'file')}{before}"
    )


def _broken(sync: SyncReport) -> str:
    hard = sum(one.severity == "hard" for one in sync.drift)
    return plural(hard, "thing") if hard else "nothing that shows"
