"""The syncs a team has made, what they took, and what the next ones can be expected to take."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ciwm.records.base import Record

SyncKind = Literal["clean", "evil", "conflict"]


class PastSync(Record):
    """A merge of two, one of them upstream's, made once more by git and compared with the record.

    `clean`: recorded as git makes it; `evil`: edited though nothing conflicted; `conflict`: git
    could not make it alone. `hand_lines` are the lines (and `hand_files` the files) by which the
    recorded tree differs from git's, added and removed, conflict markers included.
    `upstream_commits` of upstream's main line came with it, the newest `lag_days` old.
    `outside` files were edited by hand though git merged them alone; `outside_files` are the first.
    `marker_files` were recorded with conflict markers that neither parent has. Of `unread_files`
    the contents are missing here: the sync was made without them.
    """

    merge: str
    merged_at: AwareDatetime
    upstream: str
    kind: SyncKind
    conflicted_files: int
    hand_files: int
    hand_lines: int
    upstream_commits: int
    lag_days: float
    marker_files: tuple[str, ...] = ()
    unread_files: int = 0
    outside: int = 0
    outside_files: tuple[str, ...] = ()


class SyncHistory(Record):
    """All past syncs together; `replayed` of `total` were made once more, the newest first.

    Gaps are between the merges' dates, and age is from the newest to the report; both are over all
    syncs, the rest over those replayed. `edited_outside` of those that conflicted have edits in
    other files too. `conflicted_files` is a sum over syncs, its median and
    maximum are over syncs that conflicted.
    """

    total: int
    replayed: int
    clean: int = 0
    evil: int = 0
    conflict: int = 0
    conflicted_files: int = 0
    conflicted_files_median: float | None = None
    conflicted_files_max: int = 0
    hand_lines_median: float | None = None
    upstream_commits_median: float | None = None
    lag_days_median: float | None = None
    gap_days_median: float | None = None
    gap_days_max: float | None = None
    age_days: float | None = None
    marker_files: int = 0
    edited_outside: int = 0
    notes: tuple[str, ...] = ()


class Expected(Record):
    """A figure to expect, and the range in which 80 % of such figures are expected."""

    value: float
    low: float
    high: float


class Horizon(Record):
    """Merging so many weeks from now, when so many more upstream commits have come.

    `chance` of a conflict is given with its 80 % confidence interval (Wilson); `files` conflict
    and `lines` are edited by hand: the median and the middle 80 % of the `alike` past syncs nearest
    in size. `beyond`: more than twice the size of most of these, so that it may well be too low.

    `tried`: the merge was made, so that chance and files are facts, and lines are told from the
    past syncs nearest in conflicting files. No later figure is below that of a merge tried: a
    conflict stays until the side that made it takes it back.
    """

    weeks: float
    upstream_commits: int
    alike: int
    chance: Expected
    files: Expected
    lines: Expected
    beyond: bool = False
    tried: bool = False


class Cadence(Record):
    """Syncing every so many days: hand lines a week, with their 80 % bootstrap interval.

    Upstream's pace times the hand lines per upstream commit in past syncs of that size. What a sync
    takes whatever its size (tests, review) is not in it.
    """

    days: int
    upstream_commits: int
    lines_per_week: Expected


class Calibration(Record):
    """How the forecast does on the team's past, each sync foretold from all the others.

    Brier score: the mean square of chance minus outcome, 0 is perfect; `base_brier` is that of
    always saying the overall share. `files_held` and `lines_held` are the shares of syncs whose
    figure lay in the range meant for 80 %; `tried_lines_held` is that of lines told from the number
    of conflicting files.
    """

    syncs: int
    brier: float
    base_brier: float
    files_held: float
    lines_held: float
    tried_lines_held: float


class Forecast(Record):
    """What merging will take, told from past syncs of similar size.

    Where `refused` says why, there is nothing else. `cheapest_days` is the cadence with the fewest
    hand lines a week; `clear` when it came out first in at least 80 % of resampled histories.
    """

    refused: str = ""
    commits_per_week: float = 0
    horizons: tuple[Horizon, ...] = ()
    cadences: tuple[Cadence, ...] = ()
    cheapest_days: int | None = None
    clear: bool = False
    calibration: Calibration | None = None
