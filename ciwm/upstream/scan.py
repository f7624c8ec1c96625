"""Which upstream commits bring the conflicts: trial merges along upstream's main line.

First forward from the merge base until one conflicts, which needs no assumption. Then between
commits whose conflicts differ, halving; then, as long as there is time, every other commit, since
conflicts can also come and go in between.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.upstream.forecast import Names
from ciwm.upstream.names import readable_path
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.git import Repository

MERGES_AT_ONCE = 16  # in one process, between two looks at the clock
FORWARD = 32

Conflicting = frozenset[str]


@dataclass
class Line:
    """Upstream's main line, oldest first, and the conflicting paths of the commits tried."""

    repository: Repository
    downstream: str
    commits: Sequence[str]
    budget_s: float
    tried: dict[int, Conflicting] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        """Whether the time is spent."""
        return time.monotonic() - self.started >= self.budget_s

    def at(self, index: int) -> Conflicting:
        """Conflicting paths at a commit that was tried; before the first there are none."""
        return self.tried[index] if index >= 0 else frozenset()

    def try_merges(self, indices: Sequence[int]) -> None:
        """Merge those not tried yet, on every core, until the time is spent."""
        wanted = [index for index in sorted(set(indices)) if index not in self.tried]
        cores = len(os.sched_getaffinity(0))
        length = max(1, min(MERGES_AT_ONCE, -(-len(wanted) // cores)))
        parts = [wanted[start : start + length] for start in range(0, len(wanted), length)]
        with ThreadPoolExecutor(cores) as pool:
            for found in pool.map(self._merge_part, parts):
                self.tried.update(found)

    def _merge_part(self, indices: Sequence[int]) -> dict[int, Conflicting]:
        if self.over:
            return {}
        asked = "".join(f"{self.downstream} {self.commits[index]}\n" for index in indices)
        # A store for each part: thousands of merges would leave gigabytes of loose objects.
        with self.repository.scratch_objects() as scratch:
            merged = read(
                scratch,
                *("merge-tree", "--write-tree", "--stdin", "--name-only", "--no-messages"),
                stdin=asked.encode(),
            )
        answers = _answers(merged.text.split("\0")[:-1])
        return {
            index: frozenset(
                readable_path(Names(self.downstream, self.commits[index]).told(path))
                for path in paths
            )
            for index, paths in zip(indices, answers, strict=True)
        }


def _answers(fields: Sequence[str]) -> Iterator[list[str]]:
    """For each merge its conflicting paths; an answer is: clean (1 or 0), tree, paths, nothing."""
    paths: list[str] = []
    place = 0
    for text in fields:
        if place > 1 and not text:
            yield paths
            paths, place = [], 0
            continue
        if place > 1:
            paths.append(text)
        place += 1


def first_conflict(line: Line) -> int | None:
    """The index of the earliest commit that conflicts; None when none does, or time ran out."""
    for start in range(0, len(line.commits), FORWARD):
        indices = range(start, min(start + FORWARD, len(line.commits)))
        line.try_merges(indices)
        for index in indices:
            if index not in line.tried:
                return None
            if line.tried[index]:
                return index
    return None


def find_changes(line: Line) -> None:
    """Try commits between those that differ until they are neighbours, then all the others."""
    while not line.over:
        steps = [
            (earlier + later) // 2
            for earlier, later in intervals(line)
            if later - earlier > 1 and line.at(earlier) != line.at(later)
        ]
        if not steps:
            steps = _coarse_to_fine(line)
        if not steps:
            return
        line.try_merges(steps)


def _coarse_to_fine(line: Line) -> list[int]:
    """The middles of the longest stretches not looked into."""
    gaps = [(later - earlier, earlier, later) for earlier, later in intervals(line)]
    longest = max((length for length, _, _ in gaps), default=0)
    if longest <= 1:
        return []
    return [(earlier + later) // 2 for length, earlier, later in gaps if 2 * length > longest > 1]


def intervals(line: Line) -> Iterator[tuple[int, int]]:
    """Neighbours among the commits tried, starting at the merge base (-1)."""
    known = sorted(line.tried)
    return zip([-1, *known], known, strict=False)
