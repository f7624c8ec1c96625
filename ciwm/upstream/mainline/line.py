"""Upstream's main line, and the trial merges of its commits into the downstream."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.errors import GitError
from ciwm.upstream.forecast import Names
from ciwm.upstream.mainline.answers import conflicting_paths
from ciwm.upstream.names import readable_path
from ciwm.upstream.reading import MissingObjectError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ciwm.git import Repository

MERGES_AT_ONCE = 8  # in one process, between two looks at the clock

Conflicting = frozenset[str]
NONE: Conflicting = frozenset()


@dataclass
class Line:
    """Upstream's main line, oldest first, and the conflicting paths of the commits known.

    `merged` are those whose trees were merged; what is `known` besides was concluded or kept from
    an earlier report. `failed` are those git could not merge, and its words.
    """

    repository: Repository
    base: str
    downstream: str
    commits: Sequence[str]
    budget_s: float
    known: dict[int, Conflicting] = field(default_factory=dict)
    merged: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        """Whether the time is spent."""
        return time.monotonic() - self.started >= self.budget_s

    @property
    def prefix(self) -> int:
        """How many commits from the first one on are known without a gap."""
        return next((i for i in range(len(self.commits)) if i not in self.known), len(self.commits))

    @property
    def first(self) -> int | None:
        """The index of the earliest commit that conflicts; None when that is not known."""
        return next((index for index in range(self.prefix) if self.known[index]), None)

    def at(self, index: int) -> Conflicting:
        """Conflicting paths at a commit that is known; before the first there are none."""
        return self.known[index] if index >= 0 else NONE

    def intervals(self) -> Iterator[tuple[int, int]]:
        """Neighbours among the commits known, starting at the merge base (-1)."""
        known = sorted(self.known)
        return zip([-1, *known], known, strict=False)

    def learn(self, indices: Collection[int]) -> None:
        """Merge those whose trees were not merged yet, until the time is spent."""
        found = self.merge([index for index in indices if index not in self.merged])
        self.known.update(found)
        self.merged.update(found)

    def merge(self, indices: Collection[int]) -> dict[int, Conflicting]:
        """The conflicting paths of whole merges, on every core, until the time is spent."""
        wanted = sorted(set(indices))
        cores = len(os.sched_getaffinity(0))
        length = max(1, min(MERGES_AT_ONCE, -(-len(wanted) // cores)))
        parts = [wanted[start : start + length] for start in range(0, len(wanted), length)]
        merged: dict[int, Conflicting] = {}
        with ThreadPoolExecutor(cores) as pool:
            for found in pool.map(self._merge_part, parts):
                merged.update(found)
        return merged

    def _merge_part(self, indices: Sequence[int]) -> dict[int, Conflicting]:
        if self.over:
            return {}
        try:
            return self._merged(indices)
        except MissingObjectError:
            raise
        except GitError as error:  # one of them makes git stumble (some versions, on links)
            if len(indices) == 1:
                self.failed[indices[0]] = error.message
                return {}
            found: dict[int, Conflicting] = {}
            for index in indices:
                found.update(self._merge_part([index]))
            return found

    def _merged(self, indices: Sequence[int]) -> dict[int, Conflicting]:
        asked = "".join(f"{self.downstream} {self.commits[index]}\n" for index in indices)
        # A store for each part: thousands of merges would leave gigabytes of loose objects.
        with self.repository.scratch_objects() as scratch:
            answers = conflicting_paths(scratch, asked.encode())
        return {
            index: frozenset(
                readable_path(Names(self.downstream, self.commits[index]).told(path))
                for path in paths
            )
            for index, paths in zip(indices, answers, strict=True)
        }
