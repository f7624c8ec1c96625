"""The downstream's side of every trial merge: what it changed, and the folders that matter.

Between two upstream commits only upstream's side differs, so this is found out once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ciwm.upstream.mainline.likeness import resembling
from ciwm.upstream.mainline.steps import read_steps
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ciwm.git import Repository
    from ciwm.upstream.mainline.steps import Step, Touch

NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Terrain:
    """The downstream's changes since the merge base.

    `watched` are folders of the merge base in which the downstream added files, with the number of
    files the merge base has below each: should upstream empty one, git asks where it moved to.
    `moved` are folders of the merge base that the downstream has nothing in any more, while it has
    added files that resemble some of those it removed there.
    """

    changes: Mapping[str, Touch]
    watched: Mapping[str, int]
    moved: frozenset[str]


def find_terrain(repository: Repository, base: str, downstream: str) -> Terrain:
    """What `downstream` did to the tree of `base`."""
    (step,) = read_steps(repository, base, [downstream])
    changes = {touch.path: touch for touch in step}
    added = _below(touch.path for touch in step if touch.old is None)
    removed = _below(touch.path for touch in step if touch.new is None)
    if not added and not removed:
        return Terrain(changes, {}, NONE)
    listed = read(repository, "ls-tree", "-r", "--name-only", "-z", base).text.split("\0")[:-1]
    concerned = added.keys() | removed.keys()
    there = _below(listed, concerned)
    gone = {folder for folder in removed if there[folder] - removed[folder] + added[folder] == 0}
    watched = {folder: there[folder] for folder in added if there[folder]}
    return Terrain(changes, watched, frozenset(gone) if _moves(repository, step, gone) else NONE)


def _moves(repository: Repository, step: Step, gone: set[str]) -> bool:
    """Whether anything the downstream added resembles what it removed in those folders."""
    sources = {
        touch.old
        for touch in step
        if touch.old is not None and touch.new is None and not gone.isdisjoint(folders(touch.path))
    }
    added = {touch.new for touch in step if touch.new is not None and touch.old is None}
    if not sources or not added:
        return False
    with repository.scratch_objects() as scratch:
        return bool(resembling(scratch, sources, added))


def folders(path: str) -> list[str]:
    """The folders a path lies in, without the root."""
    return [str(parent) for parent in PurePosixPath(path).parents][:-1]


def _below(paths: Iterable[str], wanted: Iterable[str] | None = None) -> Counter[str]:
    """How many of the paths lie below each folder."""
    only = None if wanted is None else set(wanted)
    counts: Counter[str] = Counter()
    for path in paths:
        counts.update(folder for folder in folders(path) if only is None or folder in only)
    return counts
