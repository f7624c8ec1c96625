"""A waiver that was asked for in a comment, brought where it is reviewed like code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ciwm.errors import CiwmError, GitHubError, UsageError
from ciwm.github.proposals import Change, file_there, open_pull, put_on_branch
from ciwm.github.reruns import newest_run
from ciwm.policy.new_waivers import cases_of
from ciwm.report.replies import compare_link, proposal, text_to_merge
from ciwm.story.measured_before import regressed_in
from ciwm.waivers import DAYS, FILE_NAME, waiver_of, with_waivers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from ciwm.actions import Event, IssueComment
    from ciwm.github import GitHub
    from ciwm.github.proposals import PullTips
    from ciwm.story.slash import Waive
    from ciwm.waivers import Waiver

LONGEST_DAYS = 366
# a run names its series as it likes: no name of theirs closes an issue, pings or adds a trailer
_PLAIN_NAME = re.compile(r"\w[\w./=,:\[\]*-]{0,80}(@[\w.-]{1,40})?")
_STATE_IT = "state it: /ciwm waive SERIES ceiling=8% REASON"


@dataclass(frozen=True)
class Wanted:
    """The wish, the pull request and comment it stands in, and how it is to be met."""

    wish: Waive
    pull: PullTips
    comment: IssueComment
    today: date
    workflow: str
    pulls: bool


def proposed(github: GitHub, event: Event, wanted: Wanted) -> tuple[str, str]:
    """What was done and the reply: a branch or pull request, else the text to be merged.

    Raises CiwmError where there is no such regression, or the waiver would not count.
    """
    there = file_there(github, event.repository, FILE_NAME, wanted.pull.base_ref)
    waivers = _waivers(github, event, wanted)
    text = with_waivers(there.text, waivers, FILE_NAME, wanted.today)
    change = Change(
        repository=event.repository,
        base=wanted.pull.base_ref,
        branch=f"ciwm/waive-{wanted.comment.id}",
        path=FILE_NAME,
        text=text,
        message=_message(waivers, wanted),
    )
    try:
        link = _pushed(github, event, change, wanted)
    except GitHubError as error:
        return f"told the waiver: {error.message}", text_to_merge(
            waivers, change.base, error.message
        )
    return f"proposed a waiver: {link}", proposal(waivers, change.base, link)


def _pushed(github: GitHub, event: Event, change: Change, wanted: Wanted) -> str:
    """Where the change is reviewed: our pull request, or the page that opens one."""
    put_on_branch(github, change)
    page = compare_link((event.run_url or "").partition("/actions/")[0], change.base, change.branch)
    if not wanted.pulls and page:
        return page
    title, _, body = change.message.partition("\n\n")
    try:
        return open_pull(github, change, title, body)
    except GitHubError:
        if not page:
            raise
        return page


def _waivers(github: GitHub, event: Event, wanted: Wanted) -> Sequence[Waiver]:
    wish, comment = wanted.wish, wanted.comment
    known: dict[str, Any] = {
        "series": wish.series,
        "reason": wish.reason,
        "author": f"@{comment.author.login}",
        "issue": comment.url,
        "expires": wanted.today + timedelta(days=DAYS),
        **wish.stated,
    }
    cases: Sequence[dict[str, Any]] = [{}]
    if "ceiling" not in wish.stated:
        cases = _seen(github, event, wanted)
    waivers = [waiver_of(**{**known, **case}) for case in cases]
    for waiver in waivers:
        days = (waiver.expires - wanted.today).days
        if not 0 <= days <= LONGEST_DAYS:
            raise UsageError(
                f"expires={waiver.expires} is not within {LONGEST_DAYS} days from today"
            )
    return waivers


def _seen(github: GitHub, event: Event, wanted: Wanted) -> list[dict[str, Any]]:
    """Series, metric and ceiling of each regression that the newest run had of the series."""
    series, metric = wanted.wish.series, wanted.wish.stated.get("metric")
    run = newest_run(github, event.repository, wanted.workflow, wanted.pull.head_sha)
    if run is None:
        raise UsageError(f"no run for {wanted.pull.head_sha[:12]} tells the ceiling", _STATE_IT)
    try:
        rows = regressed_in(github, event, run)
    except CiwmError as error:
        raise UsageError(f"no run tells the ceiling: {error.message}", _STATE_IT) from error
    found = cases_of(rows, series, metric)
    if not found:
        names = ", ".join(sorted({row.series for row in rows})[:5]) or "nothing"
        raise UsageError(
            f"{series[:80]} did not regress in the newest run", f"what did: {names[:400]}"
        )
    return found


def _message(waivers: Sequence[Waiver], wanted: Wanted) -> str:
    """The commit's message: what is accepted, until when, why, and who asked where."""
    series = sorted({waiver.series for waiver in waivers})
    alone = len(series) == 1 and _PLAIN_NAME.fullmatch(series[0])
    named = series[0] if alone else f"{len(series)} series"
    first = waivers[0]
    return (
        f"Accept a regression of {named} until {first.expires}\n\n{first.reason}\n\n"
        f"Asked for by {wanted.comment.author.login} in {wanted.comment.url}"
    )
