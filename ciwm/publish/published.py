"""What became of a report that was to be posted."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record

What = Literal["comment", "check", "status", "issue"]
Done = Literal["created", "edited", "unchanged"]


class Posted(Record):
    """One thing that is on GitHub now, and what it took; `removed` counts duplicates of ours."""

    what: What
    done: Done
    url: str | None = None
    removed: int = 0


class Problem(Record):
    """One thing that could not be posted, and the mend."""

    what: What
    message: str
    hint: str = ""


class Published(Record):
    """Everything that was posted and what was not; `command` posts the rest later."""

    posted: tuple[Posted, ...] = ()
    problems: tuple[Problem, ...] = ()
    report: str | None = None
    command: str | None = None
