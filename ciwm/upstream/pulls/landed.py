"""The pull requests that a mergebot's lines in commit messages say have landed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.upstream.dates import moment
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from datetime import datetime

    from ciwm.git import Repository

_NAMED = re.compile(r"(?:(?P<repository>[\w-]+/[\w.-]+)/pull/|#)(?P<number>\d{1,9})\s*$")


def landed(
    repository: Repository, upstream: str, trailer: str, github: str, since: datetime
) -> dict[int, datetime]:
    """Pull requests that a line of a commit's message says are in it, with the commit's date.

    Such a line begins with `trailer` and ends in the address or number of a pull request of
    `github`. Commits before `since` are not looked at.
    """
    walk = ("rev-list", "--fixed-strings", f"--grep={trailer}")
    form = (f"--since=@{since.timestamp():.0f}", "--encoding=UTF-8", "--format=%ct%x00%B%x01")
    found: dict[int, datetime] = {}
    for commit in read(repository, *walk, *form, upstream).text.split("\x01"):
        header, _, message = commit.partition("\0")
        seconds = header.split("\n")[-1]  # after the line `commit SHA`
        for line in message.splitlines():
            named = _NAMED.search(line) if line.startswith(trailer) else None
            if named and (named["repository"] or github).lower() == github.lower():
                found.setdefault(int(named["number"]), moment(seconds))
    return found
