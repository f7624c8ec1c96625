"""What a scan found out, kept for the next report: that one pays only for what is new."""

from __future__ import annotations

import hashlib
from itertools import takewhile
from typing import TYPE_CHECKING

from ciwm.launch.kept_record import keep_record, kept_record
from ciwm.records.base import Record, RecordFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.git import Repository
    from ciwm.upstream.mainline.line import Line

FORM = 2  # of what is concluded; to be raised when the same merges would give other answers


class _Change(Record):
    """From this commit on, these paths conflict."""

    index: int
    paths: tuple[str, ...]


class FileHit(Record):
    """Our commits behind a culprit's conflict in one file."""

    culprit: str
    path: str
    commits: tuple[str, ...]


class KeptScan(RecordFile):
    """The first commits of a main line and what conflicts at each, by its changes."""

    settings: str
    base: str
    downstream: str
    commits: tuple[str, ...]
    changes: tuple[_Change, ...]
    hits: tuple[FileHit, ...] = ()


class Shelf:
    """Where the scans of one downstream commit are kept, under the settings merges go by."""

    def __init__(self, repository: Repository, base: str, downstream: str) -> None:
        self.base = base
        self.downstream = downstream
        self.settings = merge_settings(repository)
        named = f"{FORM} {base} {downstream} {self.settings}"
        self.name = hashlib.sha256(named.encode()).hexdigest()[:32]
        self.hits: dict[tuple[str, str], tuple[str, ...]] = {}
        self._kept: KeptScan | None = None

    def take(self, line: Line) -> str:
        """Tell the line what is kept of it; returns a note when something there is of no use."""
        kept, note = kept_record("scans", self.name, KeptScan)
        if kept is None:
            return note
        if (kept.settings, kept.base, kept.downstream) != self._key:
            return "what an earlier report kept is of no use: it is about other commits"
        self._kept = kept
        self.hits = {(hit.culprit, hit.path): hit.commits for hit in kept.hits}
        pairs = zip(kept.commits, line.commits, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        line.known.update(enumerate(_spread(kept.changes, same)))
        return ""

    def put(self, line: Line) -> str:
        """Keep what the line knows from its first commit on; a note when that cannot be done."""
        commits = tuple(line.commits[: line.prefix])
        hits = [
            FileHit(culprit=culprit, path=path, commits=found)
            for (culprit, path), found in sorted(self.hits.items())
        ]
        kept = KeptScan(
            settings=self.settings,
            base=self.base,
            downstream=self.downstream,
            commits=commits,
            changes=tuple(_changes(line, len(commits))),
            hits=tuple(hits),
        )
        return "" if kept == self._kept else keep_record("scans", self.name, kept)

    @property
    def _key(self) -> tuple[str, str, str]:
        return self.settings, self.base, self.downstream


def _spread(changes: Iterable[_Change], length: int) -> list[frozenset[str]]:
    """The conflicting paths of each commit up to a number of them."""
    spread: list[frozenset[str]] = []
    paths: frozenset[str] = frozenset()
    for change in changes:
        upto = min(change.index, length)
        spread += [paths] * (upto - len(spread))
        paths = frozenset(change.paths)
    return spread + [paths] * (length - len(spread))


def _changes(line: Line, length: int) -> Iterable[_Change]:
    for index in range(length):
        if line.at(index) != line.at(index - 1):
            yield _Change(index=index, paths=tuple(sorted(line.at(index))))


def merge_settings(repository: Repository) -> str:
    """A digest of what besides the commits decides a merge: git, its settings, replacements."""
    asked = (
        ("version",),
        ("config", "-z", "--get-regexp", r"^(merge|diff|submodule|core\.attributesfile)(\.|$)"),
        ("for-each-ref", "--format=%(refname) %(objectname)", _replacements(repository)),
    )
    told = [repository.run(*arguments, check=False).stdout for arguments in asked]
    files = [repository.common_directory / "info" / name for name in ("attributes", "grafts")]
    if repository.root is not None:
        files.append(repository.root / ".gitattributes")
    told += [path.read_bytes() if path.is_file() else b"-" for path in files]
    return hashlib.sha256(b"\0\0".join(told)).hexdigest()


def _replacements(repository: Repository) -> str:
    return repository.variables.get("GIT_REPLACE_REF_BASE", "refs/replace/")
