"""SyncReport: what a downstream carries and what merging upstream would cost."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ciwm.records.base import Record, RecordFile
from ciwm.records.sync_drift import BlindSpot, Finding, PinLane, PluginSurface
from ciwm.records.sync_gate import Marker, PinMove, Rating, SyncGate
from ciwm.records.sync_history import Forecast, PastSync, SyncHistory
from ciwm.records.sync_patches import PatchQueue
from ciwm.records.sync_pulls import Pulls
from ciwm.records.sync_shape import Ancestry, SquashedSync
from ciwm.records.sync_states import CommitsByState, CommitState

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
    """How the downstream relates to upstream, and why we think so.

    `ancestry` is "rewritten" where no commit but files are shared, and "unrelated" where nothing
    is; `synced_to` is the joint that configuration declares.
    """

    style: Style
    evidence: tuple[str, ...] = ()
    ancestry: Ancestry = "shared"
    synced_to: str | None = None
    squashed: tuple[SquashedSync, ...] = ()


class Behind(Record):
    """Upstream commits the downstream lacks; `days` is committer time of upstream minus base."""

    commits: int
    first_parent: int
    days: float


class Ahead(Record):
    """Commits of the downstream that upstream lacks, merges included."""

    commits: int


class CarriedCommit(Record):
    """A non-merge downstream commit, and what became of it (see CommitsByState)."""

    sha: str
    author: str
    authored_at: AwareDatetime
    subject: str
    state: CommitState | None = None
    evidence: str = ""


class ClassCost(Record):
    """Carried files and lines of one path class (first matching class wins)."""

    name: str
    files: int
    lines_added: int
    lines_removed: int


class Additive(Record):
    """Carried files that the merge base does not have; upstream's changes never meet them."""

    files: int
    lines_added: int


class Intrusive(Record):
    """Carried changes of files that the merge base has; these are what conflicts."""

    files: int
    lines_added: int
    lines_removed: int


class Deleted(Record):
    """Files of the merge base that the downstream removed."""

    files: int
    lines_removed: int


class Carried(Record):
    """Net difference merge base to downstream (`--no-renames --numstat`), and its commits.

    `files`, `lines_added` and `lines_removed` are the sums of additive, intrusive and deleted.
    `commits` and `list` are those whose patch id upstream does not have, `upstreamed` the others.
    """

    commits: int
    upstreamed_commits: int
    files: int
    binaries: int
    lines_added: int
    lines_removed: int
    additive: Additive | None = None
    intrusive: Intrusive | None = None
    deleted: Deleted | None = None
    classes: tuple[ClassCost, ...] = ()
    commits_by_state: CommitsByState | None = None
    upstreamed: tuple[CarriedCommit, ...] = ()
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


class FirstConflict(Record):
    """The earliest commit of upstream's main line that cannot be merged without a conflict.

    `index` counts from 0 at the first commit after the merge base; `clean_up_to` is the commit
    before it, the newest one that merges cleanly (the merge base when index is 0).
    """

    sha: str
    index: int
    clean_up_to: str


class Hit(Record):
    """A downstream commit whose lines a culprit's conflicts are in, and those files.

    Told by blame of our lines where both changes meet; where none of ours is left there (a removed
    file or line), by the commits that touched the file.
    """

    sha: str
    author: str
    subject: str
    files: tuple[str, ...]


class Culprit(Record):
    """An upstream main-line commit with which the number of conflicting files rises.

    `files` are those that came into conflict with it, under later names too (`later_names` are the
    same files once more); not all of them need conflict at the tip still. With `span` above 1 the
    search ran out of time: it is one of the `span` commits up to this one. `url` leads to its pull
    request, or else to the commit; `hits` is None where there was no time to look, or contents that
    are missing stood in the way.
    """

    sha: str
    subject: str
    pr: int | None = None
    files: tuple[str, ...] = ()
    span: int = 1
    url: str | None = None
    hits: tuple[Hit, ...] | None = None
    later_names: tuple[str, ...] = ()

    @property
    def file_count(self) -> int:
        """Files, each counted once whatever its names."""
        return len(self.files) - len(self.later_names)


class Scan(Record):
    """How many of upstream's main-line commits were tried; `sampled` when not all of them.

    `merged` of them by a merge of whole trees and `kept` in an earlier report; all others cannot
    conflict otherwise than the commit before, but for files that were merged by themselves.
    """

    tried: int
    total: int
    sampled: bool
    merged: int | None = None
    kept: int = 0


class Conflicts(Record):
    """The trial merge of upstream into the downstream; `hunks` counts conflict regions.

    `first` and `culprits` are only known when a `scan` was asked for.
    """

    clean: bool
    count: int
    hunks: int
    files: tuple[ConflictedFile, ...] = ()
    first: FirstConflict | None = None
    culprits: tuple[Culprit, ...] = ()
    scan: Scan | None = None


class SyncReport(RecordFile):
    """The sync cost at one moment; when `partial`, `notes` name what could not be computed.

    For a plugin the merge base is its (first) pin, and carried, overlap and conflicts are None;
    `surface` is None where drift was not looked at.
    For a patch queue the merge base is the pin, and the fork is the pin with those patches on top
    that apply to it, a commit each; `patches` says how they fit at the target. `markers` is None
    where what is carried could not be read.
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
    syncs: tuple[PastSync, ...] = ()
    sync_history: SyncHistory | None = None
    forecast: Forecast | None = None
    patches: PatchQueue | None = None
    markers: tuple[Marker, ...] | None = None
    pin_back: PinMove | None = None
    gate: SyncGate | None = None
    rating: Rating | None = None
    pulls: Pulls | None = None
    surface: PluginSurface | None = None
    lanes: tuple[PinLane, ...] = ()
    drift: tuple[Finding, ...] = ()
    unseen: tuple[BlindSpot, ...] = ()

    @property
    def lacks_contents(self) -> bool:
        """Whether file contents are missing, so that figures made from them are lower bounds."""
        return self.partial and (self.surface is not None or bool(self.missing_objects))
