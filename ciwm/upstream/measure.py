"""Everything git has to be asked for one report: few processes, side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.upstream.contents import Sides, attempt_merge, no_contents, settled_contents
from ciwm.upstream.dates import committed_at
from ciwm.upstream.debt import line_counts, net_changes
from ciwm.upstream.gaps import Trio
from ciwm.upstream.history import described
from ciwm.upstream.pair import merge_bases
from ciwm.upstream.patches import compared_history
from ciwm.upstream.reading import MissingObjectError
from ciwm.upstream.setting import driver_notes, history_notes

if TYPE_CHECKING:
    from datetime import datetime

    from ciwm.git import Repository
    from ciwm.records.sync import CarriedCommit
    from ciwm.upstream.contents import Contents
    from ciwm.upstream.pair import Pair
    from ciwm.upstream.patches import Compared

AT_ONCE = 4
LISTED_COMMITS = 2_000


@dataclass(frozen=True)
class Measured:
    """One report's worth of facts; None for what could not be read, and why in `notes`."""

    pair: Pair
    merge_bases: tuple[str, ...]
    dates: dict[str, datetime]
    commits: Compared
    listed: tuple[CarriedCommit, ...]
    changes: Sides | None
    contents: Contents
    notes: tuple[str, ...]


def measure(scratch: Repository, pair: Pair, bases: tuple[str, ...] = ()) -> Measured:
    """Ask git everything; raises UsageError without a merge base, GitError for a broken history.

    `scratch` writes its objects to a temporary store and fetches nothing; `bases` are the merge
    bases where they are known.
    """
    # Alone and first: over two unrelated histories the rest could take minutes.
    bases = bases or merge_bases(scratch, pair)
    trio = Trio(bases[0], pair.downstream, pair.upstream)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        commits = pool.submit(compared_history, scratch, pair)
        merge = pool.submit(attempt_merge, scratch, trio.ours, trio.theirs)
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
        compared = commits.result()
        listed = described(scratch, compared.history.carried[:LISTED_COMMITS])
        return Measured(pair, bases, dates, compared, listed, changes, contents, notes)


def _changes(scratch: Repository, trio: Trio) -> Sides:
    return Sides(
        net_changes(scratch, trio.base, trio.ours), net_changes(scratch, trio.base, trio.theirs)
    )
