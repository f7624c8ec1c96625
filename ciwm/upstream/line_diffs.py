"""The lines that commits add and remove, by path: whole diffs parsed, many commits at once."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ciwm.git import Repository
    from ciwm.upstream.debt import Change

AT_ONCE = 200  # commits in one process, so that memory has a bound
LINES_AT_MOST = 5_000  # of one file in one commit; more are generated or vendored
_FORM = ("-r", "-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")


@dataclass
class LineDiff:
    """Lines of one path, without the sign and the newline; `added_at` are new line numbers."""

    added: list[bytes] = field(default_factory=list)
    removed: list[bytes] = field(default_factory=list)
    added_at: list[int] = field(default_factory=list)


Diff = dict[str, LineDiff]


def commit_diffs(
    repository: Repository, changes: Mapping[str, Sequence[Change]]
) -> Iterator[tuple[str, Diff]]:
    """The diff of each commit in `changes`, which says what paths it changes (see commit_changes).

    Binary files have no lines. Raises MissingObjectError.
    """
    shas = list(changes)
    for start in range(0, len(shas), AT_ONCE):
        chunk = shas[start : start + AT_ONCE]
        asked = "".join(f"{sha}\n" for sha in chunk).encode()
        found = read(repository, "diff-tree", "--stdin", "--root", *_FORM, stdin=asked)
        sections = _sections(found.stdout, LINES_AT_MOST)
        for sha in chunk:
            yield sha, _by_path(changes[sha], sections)


def net_diff(repository: Repository, old: str, new: str, changes: Sequence[Change]) -> Diff:
    """The whole diff between two commits or trees, whose `changes` are known."""
    found = read(repository, "diff-tree", *_FORM, old, new)
    return _by_path(changes, _sections(found.stdout, sys.maxsize))


def _by_path(changes: Sequence[Change], sections: Iterator[LineDiff]) -> Diff:
    """Git writes a section for each change in order, and two where a file changed its type."""
    diff: Diff = {}
    for change in changes:
        whole = next(sections)
        if change.status == "T":
            second = next(sections)
            whole.added += second.added
            whole.removed += second.removed
            whole.added_at += second.added_at
        diff[change.path] = whole
    return diff


def _sections(text: bytes, at_most: int) -> Iterator[LineDiff]:
    """One for each `diff --git`; no line of a file can look like that, as those carry a sign."""
    for section in (b"\n" + text).split(b"\ndiff --git ")[1:]:
        diff = LineDiff()
        for hunk in section.split(b"\n@@ -")[1:]:
            _add_hunk(hunk, diff, at_most)
        yield diff


def _add_hunk(hunk: bytes, diff: LineDiff, at_most: int) -> None:
    """Without context lines all removed lines come first, and the head says how many there are."""
    head, *lines = hunk.split(b"\n")
    old, new = head.split(b" ", 2)[:2]
    removed, added = (int(part.partition(b",")[2] or 1) for part in (old, new))
    if len(lines) > removed + added:  # "\ No newline at end of file", or the next commit's id
        lines = [line for line in lines if not line.startswith(b"\\")]
    room = at_most - len(diff.added)
    first = int(new[1:].partition(b",")[0])
    diff.removed += [line[1:] for line in lines[:removed][: at_most - len(diff.removed)]]
    diff.added += [line[1:] for line in lines[removed : removed + added][:room]]
    diff.added_at += range(first, first + min(added, room))
