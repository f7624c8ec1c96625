"""Pull requests that patches and commits name by number: what has become of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import GitHubError
from ciwm.records.sync_pulls import PullCache

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from ciwm.github.pull_reader import PullReader
    from ciwm.records.sync_pulls import PullRequest
    from ciwm.upstream.pulls.cache import PullShelf


@dataclass(frozen=True)
class KnownPulls:
    """Pull requests by number; `absent` do not exist there, or the token may not see them.

    The rest of those asked for is not known: `stale` says why, and `read_at` how old the known are.
    """

    pulls: dict[int, PullRequest]
    absent: frozenset[int] = frozenset()
    read_at: datetime | None = None
    stale: str = ""


def known_pulls(
    shelf: PullShelf, reader: PullReader | None, numbers: Collection[int], why: str = ""
) -> KnownPulls:
    """Pull requests by number, 100 a request; those kept as merged are not asked for again.

    `reader` is None when GitHub is not to be asked, and `why`.
    """
    cache = shelf.numbered()
    kept = cache.by_number if cache else {}
    wanted = set(numbers)
    asked = {number for number in wanted if number not in kept or kept[number].state != "merged"}
    if reader is not None and asked:
        try:
            found = reader.numbered(asked)
        except GitHubError as error:
            why = error.message
        else:
            kept = {**kept, **found}
            absent = frozenset(asked - found.keys())
            shelf.keep_numbered(PullCache(read_at=reader.at, pulls=tuple(kept.values())))
            return KnownPulls(_of(kept, wanted - absent), absent, reader.at)
    known = _of(kept, wanted)
    return KnownPulls(known, read_at=cache.read_at if cache else None, stale=why if asked else "")


def _of(kept: dict[int, PullRequest], wanted: Collection[int]) -> dict[int, PullRequest]:
    return {number: kept[number] for number in sorted(wanted) if number in kept}
