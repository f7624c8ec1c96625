"""Which lines of the merge base a commit changed, though it saw a later version of the file.

Along upstream's main line every commit's hunks are in the line numbers of the version before it.
So the lines of a file are followed: each present line knows which line of the merge base it is,
and each hunk takes out what it replaces.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_NEW = 0  # a line that the merge base does not have


class Edit(NamedTuple):
    """A hunk without context: `removed` lines from `line` on become `added` ones.

    As in a unified diff lines count from 1, and a hunk that only adds stands after its `line`.
    """

    line: int
    removed: int
    added: int


class FileLines:
    """The present lines of one file, each by its number in the merge base."""

    def __init__(self) -> None:
        self._lines = array("L")  # as far as they were needed; the rest is as in the merge base
        self._rest = 1

    def apply(self, edits: Iterable[Edit]) -> set[int]:
        """Make one commit's edits, all in the numbers before it; the lines of the base concerned.

        These are the lines it replaces or removes, and the two that stand around an insertion.
        """
        concerned: set[int] = set()
        for edit in sorted(edits, reverse=True):  # from below, so that numbers above stay right
            start = edit.line - 1 if edit.removed else edit.line
            self._reach(start + max(edit.removed, 1))
            if edit.removed:
                concerned.update(self._lines[start : start + edit.removed])
            else:
                concerned.update(self._around(start))
            self._lines[start : start + edit.removed] = array("L", [_NEW]) * edit.added
        return concerned - {_NEW}

    def _reach(self, count: int) -> None:
        missing = count - len(self._lines)
        if missing > 0:
            self._lines.extend(range(self._rest, self._rest + missing))
            self._rest += missing

    def _around(self, start: int) -> tuple[int, int]:
        """The nearest lines of the base above and below a gap; past the end, the one that would be.

        So two sides that both append are seen to meet.
        """
        above = next((line for line in reversed(self._lines[:start]) if line != _NEW), _NEW)
        below = next((line for line in self._lines[start:] if line != _NEW), self._rest)
        return above, below
