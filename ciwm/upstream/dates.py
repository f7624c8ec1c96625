"""Commit dates, and the days between them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository


def committed_at(repository: Repository, shas: Sequence[str]) -> dict[str, datetime]:
    """Committer dates in UTC, by sha."""
    if not shas:
        return {}
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    found = read(repository, "rev-list", "--no-walk", "--format=%H %ct", "--stdin", stdin=asked)
    pairs = (line.split() for line in found.text.splitlines() if not line.startswith("commit "))
    return {sha: moment(seconds) for sha, seconds in pairs}


def moment(seconds: str) -> datetime:
    """A Unix time as git prints it; like git, what no calendar holds becomes 1970-01-01."""
    try:
        return datetime.fromtimestamp(int(seconds), timezone.utc)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, timezone.utc)


def days_between(earlier: datetime, later: datetime) -> float:
    """Days from one moment to another; negative when the clock of the later one ran behind."""
    return (later - earlier).total_seconds() / 86400
