"""What is folded below a sync cost: conflicting files, their hunks, what is carried, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import Detail, folded, more, name, shortened_lines, table, words
from ciwm.report.escape import code, fenced
from ciwm.report.figures import plural
from ciwm.report.sync_culprits import culprits
from ciwm.report.sync_drift import drift_details
from ciwm.report.sync_history import history_part
from ciwm.report.sync_patches import patches_section
from ciwm.report.sync_pulls import pulls_details
from ciwm.report.sync_states import state_section
from ciwm.report.sync_words import signed

if TYPE_CHECKING:
    from ciwm.records.sync import Carried, Conflicts, Overlap, SyncReport

_HUNK_LENGTH = 1_500
_CLASSES = 30
_NOTES = 10
_OBJECTS = 5
_FEW = 5


def sync_details(report: SyncReport, detail: Detail) -> str:
    """The notes in the open, and the lists that `detail` has room for, folded."""
    parts = [
        _notes(report),
        patches_section(report.patches, detail),
        drift_details(report, detail),
    ]
    if report.conflicts is not None and report.conflicts.files:
        parts += [
            _conflicts(report.conflicts, detail),
            culprits(report.conflicts, detail),
            _hunks(report.conflicts, detail),
        ]
    parts.append(history_part(report, detail))
    if detail.items and report.carried is not None:
        parts += [_carried(report.carried, detail), state_section(report.carried, detail)]
    if detail.items and report.overlap is not None and report.overlap.paths:
        parts.append(_overlap(report.overlap, detail))
    parts.append(pulls_details(report.pulls, detail))
    return "\n\n".join(part for part in parts if part)


def _conflicts(conflicts: Conflicts, detail: Detail) -> str:
    """Each conflicting file with its kind; a few in the open where there is no room for a list."""
    shown = conflicts.files[: detail.items or _FEW]
    rows = [
        (name(file.path), words(file.kind, 60), str(file.hunk_count or len(file.hunks) or ""))
        for file in shown
    ]
    text = table(("File", "Conflict", ">Hunks"), rows) + more(len(shown), conflicts.count, "files")
    if not detail.items:
        return text
    return folded(f"Conflicting files: {conflicts.count:,}", text)


def _hunks(conflicts: Conflicts, detail: Detail) -> str:
    """As many conflict hunks as there is room for, in the order of the files."""
    parts: list[str] = []
    room = detail.hunks
    for file in conflicts.files:
        for hunk in file.hunks:
            block = fenced(shortened_lines(hunk.text, _HUNK_LENGTH))
            part = f"{name(file.path)} from line {hunk.start_line}\n\n{block}"
            room -= len(part)
            if room < 0:
                break
            parts.append(part)
    if not parts:
        return ""
    rest = more(len(parts), conflicts.hunks, "hunks").strip()
    return folded(f"Conflict hunks: {conflicts.hunks:,}", *parts, rest)


def _carried(carried: Carried, detail: Detail) -> str:
    classes = [
        (
            words(cost.name, 60),
            f"{cost.files:,}",
            *signed(cost.lines_added, cost.lines_removed),
        )
        for cost in carried.classes[:_CLASSES]
    ]
    shown = carried.list[: detail.items]
    commits = [
        (code(commit.sha[:12]), f"{commit.authored_at:%Y-%m-%d}", words(commit.subject, 120))
        for commit in shown
    ]
    already = f" ({carried.upstreamed_commits:,} more already upstream)"
    return folded(
        f"What is carried: {plural(carried.files, 'file')}, {plural(carried.commits, 'commit')}"
        + (already if carried.upstreamed_commits else ""),
        table(("Kind of file", ">Files", ">Lines added", ">Lines removed"), classes)
        if classes
        else "",
        table(("Commit", "Authored", "Subject"), commits) if commits else "",
        more(len(shown), carried.commits, "commits").strip(),
    )


def _overlap(overlap: Overlap, detail: Detail) -> str:
    shown = overlap.paths[: detail.items]
    listed = "\n".join(f"- {name(path)}" for path in shown)
    return folded(
        f"Files changed on both sides: {overlap.files:,}",
        listed + more(len(shown), overlap.files, "files"),
    )


def _notes(report: SyncReport) -> str:
    notes = [words(note) for note in report.notes[:_NOTES]]
    if report.missing_objects:
        named = ", ".join(code(name[:64]) for name in report.missing_objects[:_OBJECTS])
        left = len(report.missing_objects) - _OBJECTS
        notes.insert(0, f"missing objects: {named}{f' and {left:,} more' if left > 0 else ''}")
    title = ["⚠️ This report is partial."] if report.partial else []
    return "\n".join([*title, *(f"- {note}" for note in notes)])
