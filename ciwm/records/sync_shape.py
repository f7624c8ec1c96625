"""How a downstream's history hangs together with upstream's, and where it was cut."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record

Ancestry = Literal["shared", "rewritten", "unrelated"]


class SquashedSync(Record):
    """A commit with one parent that brought upstream's work without upstream's commits.

    `files` it changed since the merge base; `upstream_files` of them hold what upstream has at
    `synced_to`, the earliest upstream commit with most of them. `healed`: a merge base younger
    than this commit makes up for the lost ancestry, or configuration does.
    """

    sha: str
    subject: str
    reason: str
    files: int
    upstream_files: int | None = None
    synced_to: str | None = None
    healed: bool = False
