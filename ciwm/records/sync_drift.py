"""Drift: what a plugin uses of upstream, and what changed of it between its pins and the target."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ciwm.records.base import Record
from ciwm.records.sync_gate import PinMove

Severity = Literal["hard", "soft"]
DriftKind = Literal[
    "removed",
    "moved",
    "call no longer binds",
    "override signature",
    "patch signature",
    "orphaned override",
    "upstream deleted an override",
    "dataclass field changed",
    "enum member changed",
    "operator schema changed",
    "patched body changed",
    "overridden body changed",
    "registry changed",
    "default changed",
]


class UpstreamChange(Record):
    """An upstream commit; `pr` is the pull request its subject ends with."""

    sha: str
    subject: str
    pr: int | None = None


class Finding(Record):
    """One upstream change under one or more uses in the plugin.

    severity        hard: code fails, or silently does nothing; soft: it runs, and needs a look
    upstream, use   `path:line`: upstream's at the target (at the pin when it is gone there), and
                    the plugin's first use
    before, after   upstream's `path:line` at the pin and at the target; "" when there is none
    commit          the newest upstream commit that did it; None when not known, and then why
    lanes           the pins it was found from
    guard           why the use may not run, or may cope (a version test, an except clause)
    """

    kind: DriftKind
    severity: Severity
    symbol: str
    upstream: str
    use: str
    before: str = ""
    after: str = ""
    detail: str = ""
    mend: str = ""
    commit: UpstreamChange | None = None
    other_commits: tuple[UpstreamChange, ...] = ()
    commit_unknown: str = ""
    use_kind: str = ""
    use_count: int = 1
    uses: tuple[str, ...] = ()
    guard: str = ""
    in_tests: bool = False
    lanes: tuple[str, ...] = ()


class PinLane(Record):
    """One pin of the plugin, how far it is behind the target, and what was found from it.

    commits      upstream commits from the pin to the target; None where upstream is no repository
    moved_back   its last move, where that went to an older upstream commit, or cannot be followed
    """

    name: str
    source: str
    ref: str
    sha: str
    committed_at: AwareDatetime
    commits: int | None
    days: float
    hard: int
    soft: int
    moved_back: PinMove | None = None


class PluginSurface(Record):
    """How much of upstream the plugin touches at its first pin: places by kind, and symbols.

    `upstream_files` define what is used there.
    """

    files: int
    imports: int
    attributes: int
    calls: int
    subclasses: int
    overrides: int
    patches: int
    strings: int
    registrations: int
    operators: int
    symbols: int
    upstream_files: tuple[str, ...] = ()


class BlindSpot(Record):
    """What reading the sources could not tell, how often, and where at first."""

    what: str
    count: int
    examples: tuple[str, ...] = ()
