"""The commits that one side has and the other lacks, from a single walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.records.sync import CarriedCommit
from ciwm.upstream.dates import moment
from ciwm.upstream.names import readable_text
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.git import Repository
    from ciwm.upstream.pair import Pair


@dataclass(frozen=True)
class History:
    """Each side's own commits with their parents, newest first.

    `equal` are non-merge commits of either side whose patch id the other side has as well.
    """

    upstream: Mapping[str, tuple[str, ...]]
    downstream: Mapping[str, tuple[str, ...]]
    equal: frozenset[str]

    @property
    def carried(self) -> tuple[str, ...]:
        """Non-merge downstream commits that upstream does not have: the + of `git cherry`."""
        return tuple(sha for sha in plain(self.downstream) if sha not in self.equal)

    @property
    def upstreamed(self) -> int:
        """Non-merge downstream commits that upstream has as patches: the - of `git cherry`."""
        return sum(sha in self.equal for sha in self.downstream)

    def main_line(self, tip: str) -> list[str]:
        """Upstream's own commits that first parents lead through from its tip, newest first."""
        line = []
        while tip in self.upstream:
            line.append(tip)
            tip = next(iter(self.upstream[tip]), "")
        return line


def plain(side: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The commits of one side that are no merges."""
    return [sha for sha, parents in side.items() if len(parents) <= 1]


def history(repository: Repository, pair: Pair, *, compared: bool = True) -> History:
    """The two sides; `compared` marks equal patches, which reads file contents."""
    options = ("--cherry-mark",) if compared else ()
    walk = ("rev-list", "--left-right", "--parents", *options, pair.sides)
    parents: dict[str, tuple[str, ...]] = {}
    equal = set()
    for line in read(repository, *walk).text.splitlines():
        sha, *rest = line[1:].split(" ")
        parents[sha] = tuple(rest)
        if line.startswith("="):
            equal.add(sha)
    theirs = _reached(parents, pair.upstream)
    return History(
        {sha: parents[sha] for sha in parents if sha in theirs},
        {sha: parents[sha] for sha in parents if sha not in theirs},
        frozenset(equal),
    )


def _reached(parents: Mapping[str, tuple[str, ...]], tip: str) -> set[str]:
    """Commits of the walk that a tip leads to; the walk holds no commit both tips lead to."""
    reached: set[str] = set()
    waiting = [tip]
    while waiting:
        sha = waiting.pop()
        if sha in parents and sha not in reached:
            reached.add(sha)
            waiting.extend(parents[sha])
    return reached


def described(repository: Repository, shas: Sequence[str]) -> tuple[CarriedCommit, ...]:
    """Author, date and subject of commits, in the given order."""
    if not shas:
        return ()
    # Without --encoding, i18n.commitEncoding of this repository would decide what bytes come out.
    form = ("--encoding=UTF-8", "--format=%an%x00%at%x00%s")
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    found = read(repository, "rev-list", "--no-walk=unsorted", "--stdin", *form, stdin=asked)
    lines = found.text.split("\n")[:-1]
    return tuple(
        _described(head.removeprefix("commit "), line)
        for head, line in zip(lines[0::2], lines[1::2], strict=True)
    )


def _described(sha: str, line: str) -> CarriedCommit:
    author, authored_at, subject = line.split("\0", 2)
    return CarriedCommit(
        sha=sha,
        author=readable_text(author),
        authored_at=moment(authored_at),
        subject=readable_text(subject),
    )
