"""Whose commits a conflict hits: blame of our lines at which upstream's change meets ours.

Where no line of ours is left to blame (a removed file, a removed line), those of our commits that
touched the file.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from ciwm.errors import GitError
from ciwm.records.sync import Hit
from ciwm.upstream.history import described
from ciwm.upstream.names import raw_path
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from ciwm.git import Repository
    from ciwm.records.sync import CarriedCommit
    from ciwm.upstream.mainline.kept_scan import Shelf
    from ciwm.upstream.mainline.line import Line
    from ciwm.upstream.mainline.spans import Rise

COMMITS_KEPT = 20
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_BLAMED = re.compile(r"([0-9a-f]{64}|[0-9a-f]{40}) \d+ \d+")


class _Lines(NamedTuple):
    """Lines `start` to `start + length - 1`, or the place after `start` when there are none."""

    start: int
    length: int

    @property
    def last(self) -> int:
        return self.start + max(self.length, 1) - 1


class Collision(NamedTuple):
    """A file that conflicts between the downstream and an upstream commit."""

    base: str
    downstream: str
    upstream: str
    path: str


def commits_hit(repository: Repository, file: Collision, own: Collection[str]) -> list[str]:
    """Our commits behind what conflicts in a file, newest first; empty when none touched it.

    `own` are the commits that upstream lacks. Raises GitError when contents cannot be read.
    """
    literal = repository.with_variables(GIT_LITERAL_PATHSPECS="1")
    theirs = [before for before, _ in _changes(literal, file.base, file.upstream, file.path)]
    met = [
        after
        for before, after in _changes(literal, file.base, file.downstream, file.path)
        if any(_meet(before, other) for other in theirs)
    ]
    ranges = [f"-L{lines.start},{lines.last}" for lines in met if lines.length]
    blamed = _blamed(literal, file, ranges) & set(own) if ranges else set()
    walk = ("rev-list", f"--max-count={COMMITS_KEPT}")
    if blamed:
        listed = "".join(f"{sha}\n" for sha in blamed).encode()
        return read(literal, *walk, "--no-walk=sorted", "--stdin", stdin=listed).text.split()
    # In full, since a removal that was merged later than the file was changed elsewhere hides.
    span = f"{file.base}..{file.downstream}"
    ours = ("--full-history", "--no-merges", span, "--", file.path)
    return read(literal, *walk, *ours).text.split()


def _changes(
    repository: Repository, base: str, tip: str, path: str
) -> Iterator[tuple[_Lines, _Lines]]:
    """What lines of the merge base became what lines of a side."""
    found = read(
        repository,
        *("diff-tree", "-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv"),
        *("--diff-algorithm=histogram", base, tip, "--", path),
    )
    for old, old_count, new, new_count in _HUNK.findall(found.text):
        yield (
            _Lines(int(old), int(old_count or 1)),
            _Lines(int(new), int(new_count or 1)),
        )


def _meet(ours: _Lines, theirs: _Lines) -> bool:
    """Whether two changes of the merge base overlap or touch, which git takes for a conflict."""
    return ours.start <= theirs.last + 1 and theirs.start <= ours.last + 1


def _blamed(repository: Repository, file: Collision, ranges: list[str]) -> set[str]:
    """The commits our lines come from.

    The whole history may be asked: to leave upstream's out, git would walk it from end to end.
    """
    # a file of commits to ignore, which settings may name, need not be in this checkout
    form = ("--porcelain", "--no-ignore-revs-file", "--no-textconv")
    found = read(repository, "blame", *form, *ranges, file.downstream, "--", file.path)
    return {head[1] for line in found.text.split("\n") if (head := _BLAMED.match(line))}


class Owners:
    """Our commits behind each culprit's conflicts, from the shelf where it has them."""

    def __init__(self, line: Line, shelf: Shelf, own: Collection[str]) -> None:
        self.line = line
        self.shelf = shelf
        self.own = own

    def hits(self, rises: Sequence[Rise]) -> list[tuple[Hit, ...] | None]:
        """For each culprit the commits it hits; None where time or contents are wanting."""
        wanted = [(self.line.commits[rise.later], path) for rise in rises for path in rise.files]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found = dict(zip(wanted, pool.map(self._commits, wanted), strict=True))
        self.shelf.hits = {key: commits for key, commits in found.items() if commits is not None}
        shas = {sha for commits in self.shelf.hits.values() for sha in commits}
        known = {each.sha: each for each in described(self.line.repository, sorted(shas))}
        return [self._hits(rise, known) for rise in rises]

    def _commits(self, key: tuple[str, str]) -> tuple[str, ...] | None:
        if key in self.shelf.hits or self.line.over:
            return self.shelf.hits.get(key)
        line, (culprit, path) = self.line, key
        try:
            file = Collision(line.base, line.downstream, culprit, raw_path(path))
            hit = commits_hit(line.repository, file, self.own)
        except GitError:
            return None
        return tuple(hit)

    def _hits(self, rise: Rise, known: Mapping[str, CarriedCommit]) -> tuple[Hit, ...] | None:
        keys = [(self.line.commits[rise.later], path) for path in sorted(rise.files)]
        if any(key not in self.shelf.hits for key in keys):
            return None
        files: dict[str, list[str]] = {}
        for key in keys:
            for sha in self.shelf.hits[key]:
                files.setdefault(sha, []).append(key[1])
        return tuple(
            Hit(sha=sha, author=known[sha].author, subject=known[sha].subject, files=tuple(paths))
            for sha, paths in files.items()
        )
