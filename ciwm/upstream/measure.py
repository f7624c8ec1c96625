"""Everything git has to be asked for one report: few processes, side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.upstream.contents import Sides, attempt_merge, no_contents, settled_contents
from ciwm.upstream.debt import line_counts, net_changes
from ciwm.upstream.distance import committed_at, distance
from ciwm.upstream.gaps import Trio
from ciwm.upstream.pair import merge_bases
from ciwm.upstream.patches import split_commits
from ciwm.upstream.reading import MissingObjectError
from ciwm.upstream.setting import driver_notes, history_notes

if TYPE_CHECKING:
    from datetime import datetime

    from ciwm.git import Repository
    from ciwm.upstream.contents import Contents
    from ciwm.upstream.distance import Distance
    from ciwm.upstream.pair import Pair
    from ciwm.upstream.patches import SplitCommits

AT_ONCE = 4


@dataclass(frozen=True)
class Measured:
    """One report's worth of facts; None for what could not be read, and why in `notes`."""

    pair: Pair
    merge_bases: tuple[str, ...]
    dates: dict[str, datetime]
    distance: Distance
    commits: SplitCommits
    changes: Sides | None
    contents: Contents
    notes: tuple[str, ...]


def measure(scratch: Repository, pair: Pair) -> Measured:
    """Ask git everything; raises UsageError without a merge base, GitError for a broken history.

    `scratch` writes its objects to a temporary store and fetches nothing.
    """
    # Alone and first: over two unrelated histories the rest could take minutes.
    bases = merge_bases(scratch, pair)
    trio = Trio(bases[0], pair.downstream, pair.upstream)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        commits = pool.submit(split_commits, scratch, pair)
        merge = pool.submit(attempt_merge, scratch, trio.ours, trio.theirs)
        apart = pool.submit(distance, scratch, pair)
        lines = pool.submit(line_counts, scratch, trio.base, trio.ours)
        dates = committed_at(scratch, (trio.base, trio.ours, trio.theirs))
        notes = history_notes(scratch, bases)
        changes: Sides | None = None
        try:
            changes = _changes(scratch, trio)
            contents = settled_contents(scratch, trio, changes, (lines, merge))
            notes += driver_notes(scratch, changes.both)
        except MissingObjectError as error:
            contents = no_contents(error)
        return Measured(
            pair, bases, dates, apart.result(), commits.result(), changes, contents, notes
        )


def _changes(scratch: Repository, trio: Trio) -> Sides:
    return Sides(
        net_changes(scratch, trio.base, trio.ours), net_changes(scratch, trio.base, trio.theirs)
    )
