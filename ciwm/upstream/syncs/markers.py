"""Conflict markers that were committed with a sync."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.names import readable_path
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository
    from ciwm.upstream.syncs.past import Sync

PATHS_AT_ONCE = 1_000
_OPENS, _PARTS, _CLOSES = "^<<<<<<< ", "^=======$", "^>>>>>>> "


def leftover_markers(repository: Repository, sync: Sync, paths: Sequence[str]) -> tuple[str, ...]:
    """Files among `paths` that the merge has with all three markers, and neither parent has so.

    Raises GitError when contents cannot be read.
    """
    literal = repository.with_variables(GIT_LITERAL_PATHSPECS="1")
    marked = _marked(literal, sync.merge, paths)
    for parent in (sync.ours, sync.theirs):
        marked -= _marked(literal, parent, sorted(marked))
    return tuple(sorted(readable_path(path) for path in marked))


def _marked(repository: Repository, sha: str, paths: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(paths), PATHS_AT_ONCE):
        part = paths[start : start + PATHS_AT_ONCE]
        listed = read(
            repository,
            *("grep", "-z", "-l", "-I", "--all-match", "-e", _OPENS, "--or", "-e", _PARTS),
            *("--or", "-e", _CLOSES, sha, "--", *part),
            accept=(1,),
        )
        found.update(name.removeprefix(f"{sha}:") for name in listed.text.split("\0") if name)
    return found
