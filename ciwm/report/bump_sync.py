"""The sync cost inside a bump's comment: one row a side at a glance, everything else folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.bump_kind import upstream_commits
from ciwm.report.detail import Detail, folded, name, table, words
from ciwm.report.figures import plural
from ciwm.report.sync_details import sync_details
from ciwm.report.sync_drift import drift_answer, drift_facts
from ciwm.report.sync_gate import gate_lines, gate_section
from ciwm.report.sync_words import lines

if TYPE_CHECKING:
    from ciwm.records import SyncReport
    from ciwm.records.sync import Conflicts

_TITLES = ("Behind upstream", "We carry", "Changed on both sides", "Conflicts")


def sync_part(head: SyncReport, base: SyncReport | None, detail: Detail) -> str:
    """What staying in sync costs at head, and at base where that differs.

    Where head leaves nothing to merge, the details are those of the merge it made. A sync still to
    come that has no conflicts folds into one line.
    """
    if head.surface is not None:
        return _plugin_part(head, detail)
    brought = upstream_commits(head, base)
    faced = base if base is not None and brought and not head.behind.commits else head
    parts = (
        _costs(head, base),
        gate_section(head),
        " ".join((_against(head, brought), *_side(faced, head, base))),
        sync_details(faced, detail),
    )
    if _is_calm(head) and not brought:
        return folded(f"Sync with upstream: {_calm_line(head)}", *parts)
    return "\n\n".join(part for part in ("#### Sync with upstream", *parts) if part)


def _plugin_part(head: SyncReport, detail: Detail) -> str:
    """What drifted under a plugin."""
    parts = (table(("", "Sync cost"), drift_facts(head, name)), sync_details(head, detail))
    if not head.drift and not head.partial:
        return folded(f"Sync with upstream: {drift_answer(head, words)}", *parts)
    told = ("#### Sync with upstream", drift_answer(head, name), *parts)
    return "\n\n".join(part for part in told if part)


def _is_calm(sync: SyncReport) -> bool:
    if gate_lines(sync) or (sync.patches is not None and sync.patches.counts.fails):
        return False
    return not sync.partial and (
        sync.behind.commits == 0 or (sync.conflicts is not None and not sync.conflicts.count)
    )


def _calm_line(sync: SyncReport) -> str:
    if not sync.behind.commits:
        return f"up to date with {words(sync.upstream.ref, 80)}"
    return f"{_behind(sync)} behind, no conflicts"


def _costs(head: SyncReport, base: SyncReport | None) -> str:
    """One row a side; base has one only where its figures differ from head's."""
    after = _cells(head)
    if base is None or (before := _cells(base)) == after:
        return table(_TITLES, [after])
    return table(("", *_TITLES), [("base (before)", *before), ("head (after)", *after)])


def _against(head: SyncReport, brought: int) -> str:
    told = f"Upstream is {name(head.upstream.ref)} at {name(head.upstream.sha[:12])}."
    if brought:
        told += f" This change brings in {plural(brought, 'upstream commit')}."
    return told


def _side(faced: SyncReport, head: SyncReport, base: SyncReport | None) -> tuple[str, ...]:
    """Which side the lists are of, where there are two."""
    if base is None:
        return ()
    return (f"The lists below are of {'head (after)' if faced is head else 'base (before)'}.",)


def _cells(sync: SyncReport) -> tuple[str, ...]:
    carried = "unknown"
    if sync.carried is not None:
        carried = (
            f"{plural(sync.carried.commits, 'commit')}, {plural(sync.carried.files, 'file')}, "
            + lines(sync.carried.lines_added, sync.carried.lines_removed)
        )
    overlap = "unknown" if sync.overlap is None else plural(sync.overlap.files, "file")
    return (_behind(sync), carried, overlap, _conflict_count(sync.conflicts))


def _behind(sync: SyncReport) -> str:
    if not sync.behind.commits:
        return "nothing"
    return f"{plural(sync.behind.commits, 'commit')} ({sync.behind.days:.1f} days)"


def _conflict_count(conflicts: Conflicts | None) -> str:
    if conflicts is None:
        return "unknown"
    if not conflicts.count:
        return "none"
    return f"**{plural(conflicts.count, 'file')}**, {plural(conflicts.hunks, 'hunk')}"
