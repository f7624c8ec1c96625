"""Trust: whose word a report is, when a trusted job posts what an untrusted one wrote."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record

Source = Literal["repository", "approved fork", "fork"]


class Trust(Record):
    """Who ran the code, and by whose policy a trusted job judged the samples again.

    `policy` names the revision the policy was read from; `said` is the outcome the report claimed
    where another one was found, `found` that one.
    """

    source: Source
    repository: str | None = None
    approved_by: str | None = None
    policy: str | None = None
    said: str | None = None
    found: str | None = None

    @property
    def trusted(self) -> bool:
        """Whether somebody with write access wrote, or approved, the code that reports."""
        return self.source != "fork"
