"""What became of carried commits."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record

CommitState = Literal["upstreamed", "likely_upstreamed", "dead", "live"]


class CommitsByState(Record):
    """Non-merge downstream commits by what became of them; each is counted once, in this order.

    `upstreamed`: upstream has the same patch. `likely_upstreamed`: upstream merged the pull request
    it names, or upstream's files hold at least 90 % of the lines it added (never subtracted from
    what is carried). `dead`: taken back or overwritten: no line of it is left, and each file it
    touched is as at the merge base (and no live commit touched it), or has no word that it brought.
    `live`: the rest, also what a merge or a later commit rewrote, which `evidence` says.
    """

    upstreamed: int
    likely_upstreamed: int
    dead: int
    live: int
