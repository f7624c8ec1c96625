"""What became of carried commits."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record

CommitState = Literal["upstreamed", "likely_upstreamed", "dead", "live"]


class CommitsByState(Record):
    """Non-merge downstream commits by what became of them; each is counted once, in this order.

    `upstreamed`: upstream has the same patch. `likely_upstreamed`: upstream merged the pull request
    it names, or upstream's files hold at least 90 % of the lines it added (never subtracted from
    what is carried). `dead`: nothing it changed is left in the net difference. `live`: the rest.
    """

    upstreamed: int
    likely_upstreamed: int
    dead: int
    live: int
