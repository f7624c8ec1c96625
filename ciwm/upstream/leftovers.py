"""Whether work whose lines are gone was taken back, or lives on in lines that were rewritten.

Advice that loses work is the worst kind: whatever cannot be shown to be gone counts as live.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import GitError
from ciwm.upstream.names import readable_path
from ciwm.upstream.objects import raw_objects
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ciwm.git import Repository
    from ciwm.upstream.debt import Change
    from ciwm.upstream.pair import Pair

FILES_AT_ONCE = 200
PATHS_AT_MOST = 300  # that merges are searched for
_WORD = re.compile(rb"\w+")
_DISTINCT = 3  # characters of a word that says something
_NO_LINES: frozenset[bytes] = frozenset()


@dataclass(frozen=True)
class Work:
    """What a commit did: paths (`made` are new), telling lines, and what has no line, by id."""

    paths: Sequence[str]
    added: Mapping[str, frozenset[bytes]]
    removed: Mapping[str, frozenset[bytes]]
    whole: frozenset[tuple[str, str]] = frozenset()
    made: frozenset[str] = frozenset()

    def words(self, path: str) -> frozenset[bytes]:
        """Words that came with its lines, the longer ones where there are any."""
        old = _words(self.removed.get(path, _NO_LINES))
        new = _words(self.added.get(path, _NO_LINES)) - old
        return frozenset(word for word in new if len(word) >= _DISTINCT) or new


@dataclass(frozen=True)
class Carried:
    """The net difference: added lines by path, what has no lines with its id, and all paths."""

    added: Mapping[str, frozenset[bytes]]
    whole: frozenset[tuple[str, str]]
    changes: Sequence[Change]

    def ids(self) -> dict[str, str]:
        """Each path that differs with the id of the file that is there now."""
        known = dict.fromkeys(self.added, "") | dict(self.whole)
        return known | {change.path: change.new_id for change in self.changes}


@dataclass(frozen=True)
class _Now:
    """By path that differs: carried words and, of the lines asked about, those that are there now.

    `replaced` are binaries and the like as a carried commit left them, `new` the files that carried
    commits made.
    """

    words: Mapping[str, frozenset[bytes]]
    there: Mapping[str, frozenset[bytes]]
    replaced: frozenset[str]
    new: frozenset[str]

    def place(self, work: Work) -> str | None:
        """The first path where work may live on; None where each path shows that it is gone."""
        return next((path for path in work.paths if self._lives_on(work, path)), None)

    def _lives_on(self, work: Work, path: str) -> bool:
        words = work.words(path)
        if path not in self.words:
            return path in self.new and any(  # most of them in one file, as after a renaming
                2 * len(words & there) > len(words) for there in self.words.values()
            )
        added, removed = work.added.get(path, _NO_LINES), work.removed.get(path, _NO_LINES)
        if not added and not removed:
            return path not in self.replaced
        there = self.there.get(path, _NO_LINES)
        if removed - there or added & there:
            return True  # what it took out has stayed out, or what it put back is still there
        return bool(added) and (not words or bool(words & self.words[path]))


def lives_on(
    repository: Repository,
    pair: Pair,
    works: Mapping[str, Work],
    gone: Collection[str],
    carried: Carried,
) -> dict[str, str]:
    """Commits of `gone` whose work may live on, each with the reason; `works` are all commits'."""
    if not gone:
        return {}
    now = _now(repository, works, gone, carried)
    places = {sha: path for sha in gone if (path := now.place(works[sha])) is not None}
    merges = _merged_lines(repository, pair, set(places.values()))
    told = {
        sha: f"rewritten {_by(works[sha].words(path), merges)}; "
        f"it may live on in {readable_path(path)}"
        for sha, path in places.items()
    }
    held = _half_taken_back(works, set(gone) - told.keys(), now.words)
    shared = "nothing of it is left, but live commits changed the same files"
    return told | dict.fromkeys(held, shared)


def _now(
    repository: Repository, works: Mapping[str, Work], gone: Collection[str], carried: Carried
) -> _Now:
    put = frozenset[tuple[str, str]]().union(*(work.whole for work in works.values()))
    ids = carried.ids()
    return _Now(
        {path: _words(carried.added.get(path, _NO_LINES)) for path in ids},
        _there(repository, [works[sha] for sha in gone], ids),
        frozenset(path for path, _ in put & carried.whole),
        frozenset().union(*(work.made for work in works.values())),
    )


def _there(
    repository: Repository, works: Iterable[Work], ids: Mapping[str, str]
) -> dict[str, frozenset[bytes]]:
    """Of the lines of these, by path, those that are there now; files are read some at a time."""
    wanted: dict[str, set[bytes]] = defaultdict(set)
    for work in works:
        for path, lines in (*work.added.items(), *work.removed.items()):
            if ids.get(path):
                wanted[path] |= lines
    paths, there = list(wanted), {}
    for start in range(0, len(paths), FILES_AT_ONCE):
        chunk = paths[start : start + FILES_AT_ONCE]
        contents = raw_objects(repository, {ids[path] for path in chunk})
        for path in chunk:
            now = {line.strip() for line in contents.get(ids[path], b"").split(b"\n")}
            there[path] = frozenset(wanted[path] & now)
    return there


def _words(lines: Iterable[bytes]) -> frozenset[bytes]:
    told = (line.removeprefix(b"Subproject commit ") for line in lines)  # git's, for submodules
    return frozenset(word for line in told for word in _WORD.findall(line))


def _half_taken_back(
    works: Mapping[str, Work], gone: set[str], differing: Collection[str]
) -> set[str]:
    """Those of `gone` without which live work in a file that now equals upstream's would return."""
    equal = {sha: set(work.paths).difference(differing) for sha, work in works.items()}
    kept: set[str] = set()
    held = {path for sha in works.keys() - gone for path in equal[sha]}
    while more := {sha for sha in gone - kept if held & equal[sha]}:
        kept |= more
        held.update(path for sha in more for path in equal[sha])
    return kept


def _merged_lines(
    repository: Repository, pair: Pair, paths: Collection[str]
) -> dict[str, list[frozenset[bytes]]]:
    """Of each downstream merge, newest first, the words of each line that no parent has.

    Empty where that cannot be read: it only gives a rewriting its name.
    """
    if not 0 < len(paths) <= PATHS_AT_MOST:
        return {}
    specs = (f":(top,literal){path}" for path in sorted(paths))
    form = ("--cc", "-U0", "--no-ext-diff", "--no-textconv", "--no-color", "--format=%x00%H")
    only = ("--full-history", "--merges", pair.downstream, f"^{pair.upstream}", "--", *specs)
    try:
        found = read(repository, "log", *form, *only).stdout
    except GitError:
        return {}
    parts = (part.partition(b"\n") for part in found.split(b"\0")[1:])
    return {
        sha.decode("ascii", "replace"): [
            _words([line]) for line in text.split(b"\n") if line.startswith(b"++")
        ]
        for sha, _, text in parts
    }


def _by(words: frozenset[bytes], merges: Mapping[str, Sequence[frozenset[bytes]]]) -> str:
    """By the newest merge that wrote a line with a commit's words, where there is one."""
    found = (sha for sha, lines in merges.items() if any(words & line for line in lines))
    sha = next(found, "")
    return f"by merge {sha[:12]}" if sha else "since"
