"""The upstream commits a team has to thank for each conflicting file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.records.sync import Culprit, FirstConflict, Scan
from ciwm.upstream.names import readable_text
from ciwm.upstream.reading import read
from ciwm.upstream.scan import Line, find_changes, first_conflict, intervals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository
    from ciwm.records.sync import Conflicts
    from ciwm.upstream.measure import Measured

# A squashed pull request's subject, a merge's subject, and what PyTorch's merge bot writes.
_SUBJECTS = re.compile(r"\(#(\d+)\)\s*$|^Merge pull request #(\d+)")
_RESOLVED = re.compile(r"^Pull Request resolved: \S+/pull/(\d+)\s*$", re.MULTILINE)


def with_culprits(
    repository: Repository, measured: Measured, conflicts: Conflicts, budget_s: float
) -> Conflicts:
    """The forecast with its first conflict and culprits, looked for in about `budget_s` seconds.

    A clean forecast has none. `repository` fetches nothing. Raises GitError when a merge on the
    way cannot be made.
    """
    if not conflicts.files:
        return conflicts
    pair = measured.pair
    commits = measured.commits.history.main_line(pair.upstream)[::-1]
    line = Line(repository, pair.downstream, commits, budget_s)
    index = first_conflict(line)
    # The tip's answer is there already; it is what the culprits have to add up to.
    line.tried[len(commits) - 1] = frozenset(file.path for file in conflicts.files)
    if index is not None:
        find_changes(line)
    first = None
    if index is not None:
        before = commits[index - 1] if index else measured.merge_bases[0]
        first = FirstConflict(sha=commits[index], index=index, clean_up_to=before)
    tried = len(line.tried)
    return conflicts.model_copy(
        update={
            "first": first,
            "culprits": _culprits(repository, line) if first else (),
            "scan": Scan(tried=tried, total=len(commits), sampled=tried < len(commits)),
        }
    )


def _culprits(repository: Repository, line: Line) -> tuple[Culprit, ...]:
    spans = _spans(line)
    messages = _messages(repository, [line.commits[span.later] for span in spans])
    return tuple(
        Culprit(
            sha=line.commits[span.later],
            subject=readable_text(message.partition("\n")[0]),
            pr=pull_request(message),
            files=tuple(sorted(span.files)),
            span=span.later - span.earlier,
        )
        for span, message in zip(spans, messages, strict=True)
    )


@dataclass(frozen=True)
class _Span:
    """From one commit tried to the next, more files conflict; `files` are those added."""

    earlier: int
    later: int
    files: set[str]


def _spans(line: Line) -> list[_Span]:
    """Where the number of conflicting files rises.

    Where some come and as many go, a conflict has moved with its file (renamed, split): the new
    name goes to the commit that brought the old one.
    """
    spans: list[_Span] = []
    origin: dict[str, _Span] = {}
    for earlier, later in intervals(line):
        before, after = line.at(earlier), line.at(later)
        if len(after) > len(before):
            spans.append(_Span(earlier, later, set(after - before)))
            origin.update(dict.fromkeys(after - before, spans[-1]))
            continue
        moved_from = [origin[path] for path in sorted(before - after) if path in origin]
        for path in after - before if moved_from else ():
            origin[path] = moved_from[0]
            moved_from[0].files.add(path)
    return spans


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
