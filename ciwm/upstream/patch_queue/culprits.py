"""Which upstream commits changed the lines that a refused hunk needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ciwm.records.sync_patches import HunkCulprit
from ciwm.upstream.names import readable_text
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.git import Repository
    from ciwm.upstream.patch_queue.applying import Refused
    from ciwm.upstream.patch_queue.diffs import PatchHunk

NAMED = 10
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", re.MULTILINE)


class _Step(NamedTuple):
    """An upstream commit, and the old ranges it replaced in one file, with their new lengths."""

    sha: str
    subject: str
    ranges: tuple[tuple[int, int, int], ...]


class History:
    """What upstream's main line did to files from the pin to the target; read once a file."""

    def __init__(self, repository: Repository, pin: str, target: str) -> None:
        self._repository, self._pin, self._target = repository, pin, target
        self._steps: dict[str, list[_Step]] = {}

    def culprits(self, refused: Refused, strip: int) -> tuple[HunkCulprit, ...]:
        """The commits that touched the lines a hunk needs, oldest first.

        For a file as a whole: the one that removed or added it, else all that touched it.
        """
        path = refused.part.path(strip)
        if path not in self._steps:
            self._steps[path] = list(self._read(path))
        steps = self._steps[path]
        if refused.hunk is not None:
            steps = list(_touching(steps, *self._needed(path, refused.hunk)))
        elif not self._content(self._target, path):
            steps = steps[-1:]
        elif not self._content(self._pin, path):
            steps = steps[:1]
        return tuple(
            HunkCulprit(sha=step.sha, subject=readable_text(step.subject)) for step in steps[:NAMED]
        )

    def _read(self, path: str) -> Iterator[_Step]:
        found = read(
            self._repository,
            *("log", "--first-parent", "--diff-merges=first-parent", "--reverse", "--no-renames"),
            *("-p", "-U0", "--no-ext-diff", "--no-textconv", "--no-color", "--no-show-signature"),
            *("--format=%x00%H %s", f"{self._pin}..{self._target}", "--", f":(top,literal){path}"),
        )
        for entry in found.stdout.split(b"\0")[1:]:
            head, _, diff = entry.partition(b"\n")
            sha, _, subject = head.decode("utf-8", "surrogateescape").partition(" ")
            ranges = (
                (int(start), int(old or 1), int(new or 1))
                for start, old, new in _HUNK.findall(diff)
            )
            yield _Step(sha, subject, tuple(ranges))

    def _needed(self, path: str, hunk: PatchHunk) -> tuple[int, int]:
        """The first and last line at the pin that the hunk's old lines are, nearest to its place.

        Where earlier patches of the queue shaped them they are not found, and the place has to do.
        """
        old = hunk.old_lines
        content = self._content(self._pin, path).split(b"\n")
        places = [
            index + 1
            for index in range(len(content) - len(old) + 1)
            if old and content[index] == old[0] and content[index : index + len(old)] == old
        ]
        first = min(places, key=lambda place: abs(place - hunk.start), default=max(1, hunk.start))
        return first, first + max(1, len(old)) - 1

    def _content(self, commit: str, path: str) -> bytes:
        """The file at a commit; empty where it is not there."""
        return self._repository.run("cat-file", "blob", f"{commit}:{path}", check=False).stdout


def _touching(steps: Sequence[_Step], first: int, last: int) -> Iterator[_Step]:
    """The steps that change lines from `first` to `last`, which move with every step."""
    for step in steps:
        touched, before, within = False, 0, 0
        for start, old, new in step.ranges:
            if _ends_before(start, old, first):
                before += new - old
            elif start < last + (old > 0):
                touched = True
                within += new - old
        first, last = first + before, max(first + before, last + before + within)
        if touched:
            yield step


def _ends_before(start: int, old: int, first: int) -> bool:
    """An insertion (no old lines) is after line `start`."""
    return start < first if old == 0 else start + old - 1 < first
