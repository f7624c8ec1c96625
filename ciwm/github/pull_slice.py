"""Slices of time: GitHub's search lists 1,000 results and no more, so a longer list is halved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from typing import Literal

Field = Literal["created", "updated"]
_SECOND = timedelta(seconds=1)
_FIRST_YEAR = datetime(2008, 1, 1, tzinfo=timezone.utc)  # there was no GitHub before


@dataclass(frozen=True)
class Slice:
    """Pull requests created (or updated) from `start` on and before `end`; None is no bound."""

    field: Field
    start: datetime | None = None
    end: datetime | None = None

    @property
    def qualifier(self) -> str:
        """The slice in the words of GitHub's search, whose ranges hold both their ends."""
        start, end = self.start, self.end
        if start is not None and end is not None:
            return f"{self.field}:{_told(start)}..{_told(end - _SECOND)}"
        if start is not None:
            return f"{self.field}:>={_told(start)}"
        return f"{self.field}:<{_told(end)}" if end is not None else ""

    def halves(self, born: datetime, now: datetime) -> tuple[Slice, Slice] | None:
        """The earlier and the later half, cut at a whole second; None for a single second.

        `born` (the repository) and `now` stand for bounds that are open.
        """
        start = self.start or min(born, self.end or now)
        end = self.end or now + _SECOND
        if end - start <= _SECOND and self.start is None:
            start = _FIRST_YEAR  # older than its repository: imported from elsewhere
        cut = (start + (end - start) / 2).replace(microsecond=0)
        if not start < cut < end:
            return None
        return replace(self, end=cut), replace(self, start=cut)


def _told(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
