"""The figures that need file contents: whole where possible, in part where contents are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ciwm.errors import GitError
from ciwm.upstream.debt import LineCount, line_counts
from ciwm.upstream.forecast import NEEDED_GIT, TrialMerge, can_merge, trial_merge
from ciwm.upstream.gaps import Gaps, Trio, find_gaps, without_paths
from ciwm.upstream.reading import DAMAGED_AT_MOST, MissingObjectError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ciwm.git import Repository
    from ciwm.upstream.debt import Change

WHOLE = Gaps()


class Sides(NamedTuple):
    """What each side changed since the merge base, path by path."""

    downstream: tuple[Change, ...]
    upstream: tuple[Change, ...]

    @property
    def both(self) -> tuple[str, ...]:
        """Paths that both sides changed."""
        theirs = {change.path for change in self.upstream}
        return tuple(change.path for change in self.downstream if change.path in theirs)


@dataclass(frozen=True)
class Contents:
    """Carried lines by path and the trial merge; `gaps` says what both leave out."""

    lines: dict[str, LineCount] | None
    merge: TrialMerge | None
    gaps: Gaps = WHOLE
    notes: tuple[str, ...] = ()


def attempt_merge(scratch: Repository, ours: str, theirs: str) -> TrialMerge | str:
    """The trial merge, or the sentence that says why there is none; missing objects raise."""
    if not can_merge(scratch):
        needed, present = (".".join(map(str, version)) for version in (NEEDED_GIT, scratch.version))
        return f"no trial merge: it needs git {needed} or newer, and this is git {present}"
    try:
        return trial_merge(scratch, ours, theirs)
    except MissingObjectError:
        raise
    except GitError as error:
        return f"no trial merge: {error.message}"


def settled_contents(
    scratch: Repository,
    trio: Trio,
    changes: Sides,
    awaited: tuple[Future[dict[str, LineCount]], Future[TrialMerge | str]],
) -> Contents:
    """Both figures, without the paths whose contents are missing or damaged."""
    try:
        return _contents(awaited[0].result(), awaited[1].result(), WHOLE)
    except MissingObjectError as error:
        damaged = {error.object_id}
    for _ in range(DAMAGED_AT_MOST):
        gaps = find_gaps(scratch, (*changes.downstream, *changes.upstream), damaged)
        try:
            rest = without_paths(scratch, trio, gaps.paths)
            lines = line_counts(scratch, rest.base, rest.ours)
            return _contents(lines, attempt_merge(scratch, rest.ours, rest.theirs), gaps)
        except MissingObjectError as error:
            if error.object_id in damaged:
                raise
            damaged.add(error.object_id)
    return Contents(None, None, gaps, ("neither lines nor a trial merge: too much is damaged",))


def no_contents(error: MissingObjectError) -> Contents:
    """Neither figure: an object that leads to the contents is missing itself."""
    note = f"neither lines, overlap nor a trial merge: {error.message}"
    return Contents(None, None, Gaps(frozenset({error.object_id})), (note,))


def _contents(lines: dict[str, LineCount], merge: TrialMerge | str, gaps: Gaps) -> Contents:
    if isinstance(merge, str):
        return Contents(lines, None, gaps, (merge,))
    return Contents(lines, merge, gaps, merge.notes)
