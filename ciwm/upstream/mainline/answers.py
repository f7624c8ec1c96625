"""Many trial merges from one git process, and which paths conflict in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.git import Repository


def conflicting_paths(scratch: Repository, asked: bytes) -> list[list[str]]:
    """The conflicting paths of each merge asked for, one pair of commits a line."""
    return [paths for _, paths in merged_trees(scratch, asked)]


def merged_trees(scratch: Repository, asked: bytes) -> list[tuple[str, list[str]]]:
    """The tree and the conflicting paths of each merge asked for, one pair of commits a line."""
    merged = read(
        scratch,
        *("merge-tree", "--write-tree", "--stdin", "--name-only", "--no-messages"),
        stdin=asked,
    )
    return list(_answers(iter(merged.text.split("\0")[:-1])))


def _answers(fields: Iterator[str]) -> Iterator[tuple[str, list[str]]]:
    """An answer is: clean (1 or 0), the tree, the paths, an empty field."""
    for _clean in fields:
        tree = next(fields)
        paths = []
        while path := next(fields):
            paths.append(path)
        yield tree, paths
