"""The upstream commits a team has to thank for each conflicting file."""

from __future__ import annotations

import re
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
    """For each path in conflict at the tip, the commit with which it last came into conflict."""
    entered: dict[str, tuple[int, int]] = {}
    for earlier, later in intervals(line):
        for path in line.at(later) - line.at(earlier):
            entered[path] = (earlier, later)
    tip = line.at(len(line.commits) - 1)
    spans = sorted({span for path, span in entered.items() if path in tip}, key=lambda s: s[1])
    messages = _messages(repository, [line.commits[later] for _, later in spans])
    return tuple(
        Culprit(
            sha=line.commits[later],
            subject=readable_text(message.partition("\n")[0]),
            pr=pull_request(message),
            files=tuple(sorted(p for p, span in entered.items() if p in tip and span[1] == later)),
            span=later - earlier,
        )
        for (earlier, later), message in zip(spans, messages, strict=True)
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
