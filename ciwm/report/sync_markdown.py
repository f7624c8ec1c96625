"""The sync report as a section of a comment: one sentence, the figures, details folded away.

The record may come from a stranger's pull request, so that every word of it is escaped and the
section's length has a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.escape import code, fenced, inline
from ciwm.report.sync_words import (
    answer,
    counted,
    facts,
    scanned,
    shortened,
    shortened_lines,
    signed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ciwm.records.sync import Carried, Conflicts, SyncReport

LONGEST = 36_000  # characters; a comment holds 65,536, and there are other sections
TABLE_LONGEST = 5_000
HUNKS_LONGEST = 6_000
FILES_SHOWN = 40
COMMITS_SHOWN = 15
CLASSES_SHOWN = 12
NOTES_SHOWN = 10
OBJECTS_SHOWN = 5
NAME_LENGTH = 160
NOTE_LENGTH = 300
HUNK_LENGTH = 1_500


def sync_section(report: SyncReport) -> str:
    """The section, at most LONGEST characters, ending in a newline."""
    parts = [
        "### Upstream sync",
        f"**{answer(report, _name)}**",
        _table(("what", "figure"), facts(report, _name))[0],
        *_conflicts(report.conflicts),
        *_carried(report.carried),
        *_notes(report),
    ]
    return "\n\n".join(parts) + "\n"


def _name(text: str) -> str:
    return _fitting(code, text, NAME_LENGTH)


def _words(text: str, length: int = NAME_LENGTH) -> str:
    return _fitting(inline, text, length)


def _fitting(escape: Callable[[str], str], text: str, length: int) -> str:
    """Escaped text of at most `length` characters: escapes can be six times what they stand for."""
    kept = length
    while len(escaped := escape(shortened(text, kept))) > length:
        kept //= 2
    return escaped


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, int]:
    """A table of as many rows as fit, and how many they are."""
    from tabulate import tabulate  # noqa: PLC0415  loads slowly for what it is

    shown = list(rows)
    while True:
        table = tabulate(shown, headers, tablefmt="github", disable_numparse=True)
        if len(table) <= TABLE_LONGEST or not shown:
            return table, len(shown)
        shown = shown[: len(shown) // 2]


def _folded(summary: str, *parts: str) -> str:
    """A part to unfold; the empty lines let GitHub read Markdown inside HTML."""
    body = "\n\n".join(part for part in parts if part)
    return f"<details><summary>{inline(summary)}</summary>\n\n{body}\n\n</details>"


def _rest(number: int, one: str, many: str = "") -> str:
    return f"… and {counted(number, one, many)} more." if number > 0 else ""


def _conflicts(conflicts: Conflicts | None) -> list[str]:
    if conflicts is None or not conflicts.files:
        return []
    rows = [
        (_name(file.path), _words(file.kind), str(file.hunk_count or ""))
        for file in conflicts.files[:FILES_SHOWN]
    ]
    table, shown = _table(("file", "kind", "hunks"), rows)
    folded = [
        _folded(
            f"{counted(conflicts.count, 'conflicting file')}",
            table,
            _rest(conflicts.count - shown, "file"),
        )
    ]
    if conflicts.scan is not None:
        folded += _culprits(conflicts)
    hunks, shown = _hunks(conflicts)
    if hunks:
        left = _rest(conflicts.hunks - shown, "hunk")
        folded.append(_folded("Conflict hunks", *hunks, left))
    return folded


def _culprits(conflicts: Conflicts) -> list[str]:
    sentences = " ".join(scanned(conflicts, _name))
    rows = [
        (
            _name(culprit.sha[:12]),
            _words(f"#{culprit.pr}") if culprit.pr else "",
            str(len(culprit.files)),
            _words(culprit.subject),
        )
        for culprit in conflicts.culprits[:COMMITS_SHOWN]
    ]
    if not rows:
        return [sentences] if sentences else []
    table, shown = _table(("commit", "PR", "files", "subject"), rows)
    rest = _rest(len(conflicts.culprits) - shown, "commit")
    title = "Upstream commits that bring the conflicts, oldest first"
    return [sentences, _folded(title, table, rest)]


def _hunks(conflicts: Conflicts) -> tuple[list[str], int]:
    parts: list[str] = []
    shown, room = 0, HUNKS_LONGEST
    for file in conflicts.files:
        for hunk in file.hunks:
            block = fenced(shortened_lines(hunk.text, HUNK_LENGTH))
            part = f"{_name(file.path)} from line {hunk.start_line}\n\n{block}"
            if len(part) > room:
                return parts, shown
            room -= len(part)
            shown += 1
            parts.append(part)
    return parts, shown


def _carried(carried: Carried | None) -> list[str]:
    if carried is None or not carried.classes:
        return []
    classes = [
        (_words(cost.name), str(cost.files), *signed(cost.lines_added, cost.lines_removed))
        for cost in carried.classes[:CLASSES_SHOWN]
    ]
    commits = [
        (code(commit.sha[:12]), f"{commit.authored_at:%Y-%m-%d}", _words(commit.subject))
        for commit in carried.list[:COMMITS_SHOWN]
    ]
    by_class, shown_classes = _table(("path class", "files", "added", "removed"), classes)
    newest, shown_commits = _table(("commit", "authored", "subject"), commits)
    return [
        _folded(
            f"What is carried: {counted(carried.files, 'file')}, "
            f"{counted(carried.commits, 'commit')}",
            by_class,
            _rest(len(carried.classes) - shown_classes, "class", "classes"),
            newest if commits else "",
            _rest(carried.commits - shown_commits, "commit") if commits else "",
        )
    ]


def _notes(report: SyncReport) -> list[str]:
    notes = [_words(note, NOTE_LENGTH) for note in report.notes[:NOTES_SHOWN]]
    if report.missing_objects:
        named = ", ".join(code(name[:64]) for name in report.missing_objects[:OBJECTS_SHOWN])
        more = len(report.missing_objects) - OBJECTS_SHOWN
        notes.insert(0, f"missing objects: {named}{f' and {more} more' if more > 0 else ''}")
    parts = ["This report is partial."] if report.partial else []
    return [*parts, "\n".join(f"- {note}" for note in notes)] if notes else parts
