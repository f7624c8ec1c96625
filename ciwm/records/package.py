"""PackageRecord: what became of the container image of one side."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record
from ciwm.records.run import Side

PackageStatus = Literal["packaged", "failed", "smoke failed", "timeout", "interrupted"]


class PackageRecord(Record):
    """One image: how long it took to make, and to try; `log_tail` where it did not go well.

    `shard` is the job of a matrix that made it, in a report of several.
    """

    side: Side
    status: PackageStatus
    image: str
    package_s: float
    smoke_s: float | None = None
    exit_code: int | None = None
    log: str
    log_tail: tuple[str, ...] = ()
    shard: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is an image, and it works."""
        return self.status == "packaged"
