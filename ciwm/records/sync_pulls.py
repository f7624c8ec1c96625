"""How our pull requests fare upstream, and which merged ones are coming at us.

Definitions. *open*, *merged* and *closed* count the pull requests of the configured authors;
`closed` means closed without a merge. The clock of a pull request starts when it was first ready
for review. Days run to the merge, to closing, or to the moment the figures were read at, for one
that is still open. A first response is a review or comment by somebody who is neither the author
nor a bot.
"""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ciwm.records.base import Record, RecordFile

PullState = Literal["open", "merged", "closed"]


class PullRequest(Record):
    """One pull request as GitHub tells it, before any rule on what counts as merged.

    `ready_at` is None for a draft that was never ready; `answered_at` is the first response.
    """

    number: int
    title: str
    url: str
    author: str
    state: PullState
    draft: bool
    created_at: AwareDatetime
    updated_at: AwareDatetime
    closed_at: AwareDatetime | None = None
    merged_at: AwareDatetime | None = None
    closed_by: str | None = None
    labels: tuple[str, ...] = ()
    ready_at: AwareDatetime | None = None
    answered_at: AwareDatetime | None = None


class Share(Record):
    """The share of pull requests to which something happened by a day: Aalen-Johansen incidence.

    Between 0 and 1, with a 95 % interval; None when none was watched that long. `n` is how many the
    figure stands on, `at_risk` how many of them were still waiting on that day.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    at_risk: int


class Within(Record):
    """The share by day 7, 30 and 90 after the clock started."""

    d7: Share
    d30: Share
    d90: Share


class OpenPull(Record):
    """One of ours that is open; `waiting_days` since it was ready, None for a draft."""

    number: int
    title: str
    url: str
    author: str
    waiting_days: float | None
    answered: bool


class IncomingPull(Record):
    """An upstream change in the range to merge that touches files we carry or use.

    `overlap_lines` are lines of the merge base that both it and we changed (for an insertion, the
    lines on its two sides), `near_lines` those it changed right beside ours, where git merges as
    little; None where contents are missing. `lines_added` and `lines_removed` are
    its own, in those files. `number` is None when its subject names none.
    """

    number: int | None
    sha: str
    commits: int
    subject: str
    author: str
    merged_at: AwareDatetime
    url: str | None
    ours: bool
    files: tuple[str, ...]
    files_count: int
    overlap_lines: int | None
    near_lines: int | None
    lines_added: int | None
    lines_removed: int | None


class Pulls(Record):
    """Our pull requests upstream, and the incoming ones; None for what could not be read.

    `read_at` is the moment GitHub was last asked about ours; `requests` the GraphQL queries this
    took now, `points` what they cost of the rate limit. Medians are days, None when not reached.
    """

    repository: str | None = None
    authors: tuple[str, ...] = ()
    since: AwareDatetime | None = None
    read_at: AwareDatetime | None = None
    from_cache: bool = False
    requests: int = 0
    points: int = 0
    open: int | None = None
    merged: int | None = None
    closed: int | None = None
    drafts: int | None = None
    merged_within: Within | None = None
    closed_within: Within | None = None
    answered_within: Within | None = None
    median_days_to_merge: float | None = None
    median_days_to_response: float | None = None
    waiting: tuple[OpenPull, ...] = ()
    incoming: tuple[IncomingPull, ...] = ()
    incoming_count: int | None = None
    notes: tuple[str, ...] = ()


class PullCache(RecordFile):
    """Pull requests of one author (or some by number) as they were at `read_at`, GitHub's clock.

    `unread` of them GitHub did not tell.
    """

    read_at: AwareDatetime
    pulls: tuple[PullRequest, ...]
    unread: int = 0

    @property
    def by_number(self) -> dict[int, PullRequest]:
        """The pull requests by number."""
        return {pull.number: pull for pull in self.pulls}


class LoginCache(RecordFile):
    """The logins that mail addresses were found to belong to."""

    logins: dict[str, str]
