"""The sync cost inside a bump's comment: one row a side at a glance, everything else folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import Detail, clipped, folded, more, name, words
from ciwm.report.escape import fenced
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import SyncReport
    from ciwm.records.sync import Carried, ConflictedFile, Conflicts

_HUNK_LIMIT = 3000
_NOTES = 10
_CLASSES = 30


def sync_part(head: SyncReport, base: SyncReport | None, detail: Detail) -> str:
    """What staying in sync costs at head, and at base where that differs.

    A sync without conflicts folds into one line.
    """
    body = "\n\n".join(part for part in _parts(head, base, detail) if part)
    if _is_calm(head):
        return folded(f"Sync with upstream: {_calm_line(head)}", body)
    return f"#### Sync with upstream\n\n{body}"


def _is_calm(sync: SyncReport) -> bool:
    return not sync.partial and sync.conflicts is not None and not sync.conflicts.count


def _calm_line(sync: SyncReport) -> str:
    if not sync.behind.commits:
        return f"up to date with {words(clipped(sync.upstream.ref, 80))}"
    return f"{_behind(sync)}, no conflicts"


def _parts(head: SyncReport, base: SyncReport | None, detail: Detail) -> list[str]:
    return [
        _costs(head, base),
        "\n".join(f"- ⚠️ {words(note)}" for note in head.notes[:_NOTES]),
        _conflicts(head.conflicts, detail) if head.conflicts and head.conflicts.count else "",
        _carried(head.carried, detail) if head.carried and detail.items else "",
        _overlap(head, detail) if head.overlap and detail.items else "",
    ]


def _costs(head: SyncReport, base: SyncReport | None) -> str:
    """One row a side; base has one only where its figures differ from head's."""
    after = _cells(head)
    titles: tuple[str, ...] = ("Behind", "We carry", "Changed on both sides", "Conflicts")
    rows: list[tuple[str, ...]] = [after]
    if base is not None and (before := _cells(base)) != after:
        titles = ("", *titles)
        rows = [("base, before", *before), ("head, after", *after)]
    drawn = "\n".join(
        f"| {' | '.join(row)} |" for row in (titles, tuple(":--" for _ in titles), *rows)
    )
    against = f"Against {name(head.upstream.ref)} at {name(head.upstream.sha[:12])}."
    brought = base.behind.commits - head.behind.commits if base is not None else 0
    if brought > 0:
        against += f" This change brings in {plural(brought, 'upstream commit')}."
    return f"{drawn}\n\n{against}"


def _cells(sync: SyncReport) -> tuple[str, ...]:
    carried = "unknown"
    if sync.carried is not None:
        carried = (
            f"{plural(sync.carried.commits, 'commit')}, {plural(sync.carried.files, 'file')}, "
            f"+{sync.carried.lines_added:,} −{sync.carried.lines_removed:,} lines"
        )
    overlap = "unknown" if sync.overlap is None else plural(sync.overlap.files, "file")
    return (_behind(sync), carried, overlap, _conflict_count(sync.conflicts))


def _behind(sync: SyncReport) -> str:
    if not sync.behind.commits:
        return "0 commits"
    return f"{plural(sync.behind.commits, 'commit')} behind ({sync.behind.days:.1f} days)"


def _conflict_count(conflicts: Conflicts | None) -> str:
    if conflicts is None:
        return "unknown"
    if not conflicts.count:
        return "none"
    return f"**{plural(conflicts.count, 'file')}**, {plural(conflicts.hunks, 'hunk')}"


def _conflicts(conflicts: Conflicts, detail: Detail) -> str:
    """Each conflicting file with its kind; on the first rung the hunks themselves."""
    shown = conflicts.files[: detail.items or 5]
    listed = "\n".join(
        f"- {name(file.path)}: {words(clipped(file.kind, 60))}"
        + (f", {plural(len(file.hunks), 'hunk')}" if file.hunks else "")
        for file in shown
    ) + more(len(shown), conflicts.count, "conflicting files")
    if not detail.items:
        return listed
    parts = (listed, _hunks(conflicts.files, detail.hunks))
    return folded("Conflicting files", "\n\n".join(part for part in parts if part))


def _hunks(files: Sequence[ConflictedFile], limit: int) -> str:
    every = [(file.path, hunk) for file in files for hunk in file.hunks]
    texts = [
        f"{name(path)}, line {hunk.start_line}:\n\n{fenced(clipped(hunk.text, _HUNK_LIMIT))}"
        for path, hunk in every[:limit]
    ]
    return "\n\n".join(texts) + (more(limit, len(every), "hunks") if limit else "")


def _carried(carried: Carried, detail: Detail) -> str:
    classes = [
        f"| {words(clipped(row.name, 60))} | {row.files:,} | {row.lines_added:,} "
        f"| {row.lines_removed:,} |"
        for row in carried.classes[:_CLASSES]
    ]
    head = ["| Kind | Files | Lines added | Lines removed |", "| :-- | --: | --: | --: |"]
    shown = carried.list[: detail.items]
    commits = "\n".join(
        f"- {name(commit.sha[:12])} {words(clipped(commit.subject, 120))} "
        f"({words(clipped(commit.author, 60))})"
        for commit in shown
    ) + more(len(shown), carried.commits, "commits")
    summary = f"What we carry: {plural(carried.commits, 'commit')}"
    if carried.upstreamed_commits:
        summary += f" ({carried.upstreamed_commits:,} more are already upstream)"
    parts = ("\n".join([*head, *classes]) if classes else "", commits.strip())
    return folded(summary, "\n\n".join(part for part in parts if part))


def _overlap(sync: SyncReport, detail: Detail) -> str:
    paths = sync.overlap.paths if sync.overlap else ()
    if not paths:
        return ""
    shown = paths[: detail.items]
    listed = "\n".join(f"- {name(path)}" for path in shown) + more(len(shown), len(paths), "files")
    return folded(f"Files changed on both sides: {len(paths):,}", listed)
