"""How far the two histories have gone apart, in commits and days."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository
    from ciwm.upstream.pair import Pair


class Distance(NamedTuple):
    """Commits of one side that the other lacks, merges included."""

    behind: int
    behind_first_parent: int
    ahead: int


def distance(repository: Repository, pair: Pair) -> Distance:
    """Upstream's and the downstream's own commits, and those on upstream's main line."""
    both = read(repository, "rev-list", "--left-right", "--count", pair.sides).text.split()
    main_line = read(
        repository, "rev-list", "--count", "--first-parent", pair.upstream, f"^{pair.downstream}"
    )
    return Distance(int(both[0]), int(main_line.text), int(both[1]))


def committed_at(repository: Repository, shas: Sequence[str]) -> dict[str, datetime]:
    """Committer dates in UTC, by sha."""
    found = read(repository, "rev-list", "--no-walk", "--format=%H %ct", *shas)
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
