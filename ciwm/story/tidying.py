"""Waivers that should go, taken out of the file by a change that somebody merges."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ciwm.errors import GitHubError
from ciwm.github.proposals import Change, file_there, open_pull, put_on_branch
from ciwm.report.replies import compare_link
from ciwm.waivers import FILE_NAME, parse_waivers, without_waivers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from ciwm.github import GitHub
    from ciwm.records.closing import Closing
    from ciwm.waivers import Waiver

TITLE = "Close waivers that are over"


def proposed_closing(
    github: GitHub, repository: str, branch: str, closing: Sequence[Closing], run_url: str | None
) -> str:
    """Where the closing is reviewed: a pull request of ours, else the page that opens one.

    Empty where the branch's file holds none of them. Asking again for the same changes nothing.
    """
    there = file_there(github, repository, FILE_NAME, branch)
    known = parse_waivers(there.text.encode(), FILE_NAME)
    whys = {(one.series, one.metric, one.issue, one.expires): one.why for one in closing}
    gone = [waiver for waiver in known if _key(waiver) in whys]
    if not gone:
        return ""
    text = without_waivers(there.text, gone, FILE_NAME)
    told = "\n".join(f"- {one.series} {one.metric}: {whys[_key(one)]}" for one in gone)
    change = Change(
        repository=repository,
        base=branch,
        branch=f"ciwm/close-waivers-{hashlib.sha256(there.text.encode()).hexdigest()[:8]}",
        path=FILE_NAME,
        text=text,
        message=f"{TITLE}\n\n{told}",
    )
    put_on_branch(github, change)
    try:
        return open_pull(github, change, TITLE, told)
    except GitHubError:
        page = compare_link((run_url or "").partition("/actions/")[0], branch, change.branch)
        if not page:
            raise
        return page


def _key(waiver: Waiver) -> tuple[str, str, str, date]:
    return (waiver.series, waiver.metric, waiver.issue, waiver.expires)
