"""BuildRecord: what became of one revision's build."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record, RecordFile

BuildStatus = Literal["built", "cached", "failed", "timeout", "interrupted"]


class Revision(Record):
    """A revision as it was asked for, and the commit and tree it meant."""

    ref: str
    sha: str
    tree: str


class BuildRecord(RecordFile):
    """One build; `log_tail` holds the last lines of a failed one, `log` the path of all of it.

    `duration_s` is what the recipe took, `peak_rss_bytes` the memory of the largest single process
    it started; of a cached build, what it took when it was made.
    """

    revision: Revision
    key: str
    status: BuildStatus
    duration_s: float
    peak_rss_bytes: int | None = None
    exit_code: int | None = None
    directory: str
    python: str
    log: str
    log_tail: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether launches can use this build."""
        return self.status in ("built", "cached")
