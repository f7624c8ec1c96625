"""A rewritten history joined to the original one, wherever both had the very same files.

A fork whose commits were rewritten (filter-repo, a re-import, another author's address) shares no
commit id with upstream, but the trees of the commits it did not change itself are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.git import Repository
    from ciwm.upstream.pair import Pair

# One equal tree of fewer files than this may be chance: two projects begun with the same licence.
ENOUGH_FILES = 10


class _Commit(NamedTuple):
    tree: str
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Joint:
    """Where a rewritten history meets the original.

    `twins`: downstream commits, and the newest upstream commit with the same tree; `newest` is the
    first of them on the way back from the tip.
    """

    twins: Mapping[str, str]
    newest: str
    grafts: Mapping[str, tuple[str, ...]]

    @property
    def base(self) -> str:
        """The upstream commit whose files the downstream last had unchanged."""
        return self.twins[self.newest]


def find_joint(repository: Repository, pair: Pair) -> Joint | None:
    """The joint of two histories without a common commit; None when no trees are equal."""
    theirs: dict[str, str] = {}
    for sha, commit in _commits(repository, pair.upstream).items():
        theirs.setdefault(commit.tree, sha)
    ours = _commits(repository, pair.downstream)
    twins = {sha: theirs[commit.tree] for sha, commit in ours.items() if commit.tree in theirs}
    newest = _first_on_the_way_back(ours, twins, pair.downstream)
    if newest is None or not _means_something(repository, {ours[sha].tree for sha in twins}):
        return None
    grafts = {
        sha: tuple(dict.fromkeys(twins.get(parent, parent) for parent in commit.parents))
        for sha, commit in ours.items()
        if sha not in twins and any(parent in twins for parent in commit.parents)
    }
    return Joint(twins, newest, grafts)


def _commits(repository: Repository, tip: str) -> dict[str, _Commit]:
    """Every commit a tip leads to, children before parents, newest first."""
    found = read(repository, "log", "--topo-order", "--no-show-signature", "--format=%H %T %P", tip)
    rows = (line.split(" ") for line in found.text.splitlines())
    return {row[0]: _Commit(row[1], tuple(filter(None, row[2:]))) for row in rows}


def _first_on_the_way_back(
    ours: Mapping[str, _Commit], twins: Mapping[str, str], tip: str
) -> str | None:
    """The first twin along first parents, else (one came in by a merge only) the first of any."""
    sha = tip
    while sha in ours:
        if sha in twins:
            return sha
        sha = next(iter(ours[sha].parents), "")
    return next(iter(twins), None)


def _means_something(repository: Repository, trees: set[str]) -> bool:
    """Whether equal trees are proof; the empty one never is."""
    if len(trees) > 2:  # noqa: PLR2004  the empty tree and one chance
        return True
    listed = (read(repository, "ls-tree", "-r", "--name-only", "-z", tree) for tree in trees)
    return max((tree.text.count("\0") for tree in listed), default=0) >= ENOUGH_FILES
