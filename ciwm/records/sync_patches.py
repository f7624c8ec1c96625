"""A patch queue at its pin and at the target: which patches go on, which do not, which can go."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record

PatchFit = Literal["applies", "offset", "fuzz", "fails", "upstream"]
PullState = Literal["open", "merged", "closed"]
Advice = Literal["delete", "yours", "wait", "mend", "keep", "unknown"]


class HunkCulprit(Record):
    """An upstream commit between pin and target that changed lines a hunk needs."""

    sha: str
    subject: str


class FailedHunk(Record):
    """A hunk that does not apply at the target.

    `number` counts from 1 in its file, 0 stands for the file as a whole (it is gone, or there
    already); `start_line` is the patch's own. `reason` is git's.
    """

    path: str
    number: int
    start_line: int
    reason: str
    text: str = ""
    culprits: tuple[HunkCulprit, ...] = ()


class PatchClaims(Record):
    """What a patch's header says of its way upstream: DEP-3, Upstream-Status, Related PR.

    `pulls` are numbers of upstream pull requests; `commits` are commits or tags said to hold it;
    `refused` is the header's own word that upstream will not take it.
    """

    pulls: tuple[int, ...] = ()
    commits: tuple[str, ...] = ()
    refused: str = ""


class QueuedPatch(Record):
    """One patch in the queue's order, applied after those before it.

    fits          applies: exactly where it says; offset: elsewhere (`offset_lines` at most); fuzz:
                  with so many (`fuzz`) context lines ignored; fails; upstream: the target has it
    at_pin        the same at the pin; None when the pin is not known
    hunks         all of its hunks; of them the target has `hunks_there` already, and
                  `hunks_failed` do not apply (a binary, say, counts as one)
    upstream_commit  the upstream commit with the same patch, or that its header means
    after_failed  earlier failing patches of the same files, which may be the reason
    """

    name: str
    subject: str
    fits: PatchFit
    at_pin: PatchFit | None = None
    offset_lines: int = 0
    fuzz: int = 0
    hunks: int = 0
    hunks_there: int = 0
    hunks_failed: int = 0
    failed: tuple[FailedHunk, ...] = ()
    message: str = ""
    after_failed: tuple[str, ...] = ()
    upstream_commit: str | None = None
    evidence: str = ""
    claims: PatchClaims = PatchClaims()
    landed: tuple[int, ...] = ()
    advice: Advice = "keep"
    reason: str = ""


class PatchCounts(Record):
    """Patches by how they fit at the target."""

    applies: int
    offset: int
    fuzz: int
    fails: int
    upstream: int


class PatchQueue(Record):
    """The queue at the target; a patch that fails is left out for those after it."""

    folder: str
    order: str
    pin: str
    pin_source: str
    target: str
    counts: PatchCounts
    failed_hunks: int
    patches: tuple[QueuedPatch, ...] = ()
