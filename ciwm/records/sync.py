"""SyncReport: what a downstream carries and what merging upstream would cost."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ciwm.records.base import Record, RecordFile
from ciwm.records.sync_drift import BlindSpot, Finding, PinLane, PluginSurface

Style = Literal["fork", "plugin", "patches"]


class Upstream(Record):
    """The upstream ref as given, and the commit it meant."""

    ref: str
    sha: str
    committed_at: AwareDatetime


class Downstream(Record):
    """The downstream revision the report is about."""

    ref: str
    sha: str
    committed_at: AwareDatetime


class Shape(Record):
    """How the downstream relates to upstream, and why we think so."""

    style: Style
    evidence: tuple[str, ...] = ()


class Behind(Record):
    """Upstream commits the downstream lacks; `days` is committer time of upstream minus base."""

    commits: int
    first_parent: int
    days: float


class Ahead(Record):
    """Commits of the downstream that upstream lacks, merges included."""

    commits: int


class CarriedCommit(Record):
    """A non-merge downstream commit whose patch id upstream does not have."""

    sha: str
    author: str
    authored_at: AwareDatetime
    subject: str


class ClassCost(Record):
    """Carried files and lines of one path class (first matching class wins)."""

    name: str
    files: int
    lines_added: int
    lines_removed: int


class Carried(Record):
    """Net difference merge base to downstream (`--no-renames --numstat`), and its commits."""

    commits: int
    upstreamed_commits: int
    files: int
    binaries: int
    lines_added: int
    lines_removed: int
    classes: tuple[ClassCost, ...] = ()
    list: tuple[CarriedCommit, ...] = ()


class Overlap(Record):
    """Files changed on both sides since the merge base."""

    files: int
    paths: tuple[str, ...] = ()


class Hunk(Record):
    """One conflict region of the merged file, markers included, from its first line number."""

    start_line: int
    text: str


class ConflictedFile(Record):
    """A file the trial merge could not merge, the kind git named, and its regions.

    `hunk_count` counts all regions; `hunks` may hold fewer, as the text is bounded.
    """

    path: str
    kind: str
    message: str = ""
    hunk_count: int = 0
    hunks: tuple[Hunk, ...] = ()


class Conflicts(Record):
    """The trial merge of upstream into the downstream; `hunks` counts conflict regions."""

    clean: bool
    count: int
    hunks: int
    files: tuple[ConflictedFile, ...] = ()


class SyncReport(RecordFile):
    """The sync cost at one moment; when `partial`, `notes` name what could not be computed.

    For a plugin the merge base is its (first) pin, and carried, overlap and conflicts are None;
    `surface` is None where drift was not looked at.
    """

    generated_at: AwareDatetime
    repository: str
    upstream: Upstream
    downstream: Downstream
    shape: Shape
    merge_base: str
    merge_bases: tuple[str, ...]
    behind: Behind
    ahead: Ahead
    carried: Carried | None
    overlap: Overlap | None
    conflicts: Conflicts | None
    partial: bool = False
    missing_objects: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    surface: PluginSurface | None = None
    lanes: tuple[PinLane, ...] = ()
    drift: tuple[Finding, ...] = ()
    unseen: tuple[BlindSpot, ...] = ()
