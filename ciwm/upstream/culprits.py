"""The upstream commits a team has to thank for each conflicting file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ciwm.errors import GitError
from ciwm.records.sync import Culprit, FirstConflict, Scan
from ciwm.upstream.mainline.kept_scan import Shelf
from ciwm.upstream.mainline.line import Line
from ciwm.upstream.mainline.owners import Owners
from ciwm.upstream.mainline.search import search
from ciwm.upstream.mainline.spans import rises
from ciwm.upstream.mainline.walk import walk
from ciwm.upstream.names import readable_text
from ciwm.upstream.reading import read
from ciwm.upstream.web import web_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository
    from ciwm.records.sync import Conflicts
    from ciwm.upstream.mainline.spans import Rise
    from ciwm.upstream.measure import Measured

# A squashed pull request's subject, a merge's subject, and what PyTorch's merge bot writes.
_SUBJECTS = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+)")
_RESOLVED = re.compile(r"^Pull Request resolved: \S+/pull/(\d+)\s*$", re.MULTILINE)


class Found(NamedTuple):
    """The forecast with its first conflict and culprits, and what a reader should know."""

    conflicts: Conflicts
    notes: tuple[str, ...] = ()


def with_culprits(
    repository: Repository,
    measured: Measured,
    conflicts: Conflicts,
    budget_s: float,
    url: str | None = None,
) -> Found:
    """The first conflict and the culprits, looked for in about `budget_s` seconds.

    A clean forecast has none. `repository` fetches nothing; `url` is upstream's, where
    configuration has one. What is found is kept for the next report. Raises GitError when commits
    cannot be read.
    """
    if not conflicts.files:
        return Found(conflicts)
    pair, base = measured.pair, measured.merge_bases[0]
    commits = measured.commits.history.main_line(pair.upstream)[::-1]
    line = Line(repository, base, pair.downstream, commits, budget_s, _one_base(measured))
    shelf = Shelf(repository, base, pair.downstream)
    notes = [shelf.take(line)]
    kept = len(line.known)
    notes.append(_search(line, conflicts))
    found = _with_findings(line, conflicts, kept)
    owners = Owners(line, shelf, measured.commits.history.downstream)
    culprits = _culprits(line, owners, web_address(repository, pair.upstream_ref, url))
    notes += [_failures(line), shelf.put(line)]
    return Found(
        found.model_copy(update={"culprits": culprits if found.first else ()}),
        tuple(note for note in notes if note),
    )


def _search(line: Line, conflicts: Conflicts) -> str:
    """Learn what there is time for; a note when something stands in the way."""
    # The tip's answer is there already; it is what the culprits have to add up to.
    tip, told = len(line.commits) - 1, frozenset(file.path for file in conflicts.files)
    line.known[tip] = told
    try:
        if line.one_base:
            return walk(line)
        search(line)
    except GitError as error:
        line.known[tip] = told
        return f"the search for culprits stopped early: {error.message}"
    return ""


def _one_base(measured: Measured) -> bool:
    """Whether every commit of the main line has the one merge base, right before its first."""
    pair, history = measured.pair, measured.commits.history
    first = history.main_line(pair.upstream)[-1:]
    return [history.upstream[sha][:1] for sha in first] == [measured.merge_bases]


def _with_findings(line: Line, conflicts: Conflicts, kept: int) -> Conflicts:
    index, total, tried = line.first, len(line.commits), len(line.known)
    first = None
    if index is not None:
        before = line.commits[index - 1] if index else line.base
        first = FirstConflict(sha=line.commits[index], index=index, clean_up_to=before)
    scan = Scan(
        tried=tried,
        total=total,
        sampled=tried < total,
        merged=len(line.merged),
        kept=min(kept, tried),
    )
    return conflicts.model_copy(update={"first": first, "scan": scan})


def _failures(line: Line) -> str:
    words = [message for message in line.failed.values() if message]
    return f"git failed at {len(words)} merges on the way: {words[0]}" if words else ""


def _culprits(line: Line, owners: Owners, address: str | None) -> tuple[Culprit, ...]:
    found = rises(line)
    messages = _messages(line.repository, [line.commits[rise.later] for rise in found])
    hits = owners.hits(found)
    return tuple(
        _culprit(line, rise, message, address).model_copy(update={"hits": hit})
        for rise, message, hit in zip(found, messages, hits, strict=True)
    )


def _culprit(line: Line, rise: Rise, message: str, address: str | None) -> Culprit:
    sha, pr = line.commits[rise.later], pull_request(message)
    page = f"pull/{pr}" if pr else f"commit/{sha}"
    return Culprit(
        sha=sha,
        subject=readable_text(message.partition("\n")[0]),
        pr=pr,
        files=tuple(sorted(rise.files)),
        later_names=tuple(sorted(rise.later_names)),
        span=rise.later - rise.earlier,
        url=f"{address}/{page}" if address else None,
    )


def pull_request(message: str) -> int | None:
    """The pull request that a commit message says it came from."""
    subject = message.partition("\n")[0]
    found = _SUBJECTS.search(subject) or _RESOLVED.search(message)
    return int(next(number for number in found.groups() if number)) if found else None


def _messages(repository: Repository, shas: Sequence[str]) -> list[str]:
    if not shas:
        return []
    form = ("--encoding=UTF-8", "--format=%B%x00")
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    found = read(repository, "rev-list", "--no-walk=unsorted", "--stdin", *form, stdin=asked)
    parts = found.text.split("\0")[:-1]
    return [part.lstrip("\n").partition("\n")[2] for part in parts]
