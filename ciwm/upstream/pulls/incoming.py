"""The upstream changes of a merge that touch files we carry or use, from git alone."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from ciwm.records.sync_pulls import IncomingPull
from ciwm.upstream.culprits import pull_request
from ciwm.upstream.dates import moment
from ciwm.upstream.debt import net_changes
from ciwm.upstream.names import raw_path, readable_path, readable_text
from ciwm.upstream.pulls.base_lines import FileLines
from ciwm.upstream.pulls.commit_edits import Step, commit_edits
from ciwm.upstream.reading import MissingObjectError, read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from ciwm.git import Repository
    from ciwm.records.sync import SyncReport

LISTED = 200
FILES_LISTED = 20


class Merge(NamedTuple):
    """What is to be merged: commits of `upstream` since `base`, into `downstream`.

    `used` are upstream's files that we use, or patch, without having them; `downstream` is None
    where that is all: then no line can be compared.
    """

    base: str
    upstream: str
    downstream: str | None
    used: tuple[str, ...] = ()


def merge_of(report: SyncReport) -> Merge:
    """The merge a report is about; of a queue or plugin, the files it patches or uses."""
    base, upstream = report.merge_base, report.upstream.sha
    if report.shape.style == "fork":
        return Merge(base, upstream, report.downstream.sha)
    used = report.overlap.paths if report.overlap else ()
    if report.surface is not None and report.lanes[0].commits is not None:  # else a folder
        used = report.surface.upstream_files
    return Merge(base, upstream, None, tuple(raw_path(path) for path in used))


class Ours(NamedTuple):
    """How our own changes are known: by mail address, and by number. `site` holds the pages."""

    mails: Collection[str] = ()
    numbers: Collection[int] = ()
    site: str | None = None


class Incoming(NamedTuple):
    """The changes, those first that meet most of our lines, and how many there are in all."""

    listed: tuple[IncomingPull, ...]
    total: int
    notes: tuple[str, ...] = ()


class _Touch(NamedTuple):
    """What one commit did to one of the files: which lines we changed too, which lie next to ours.

    Git merges neither without a person.
    """

    sha: str
    path: str
    added: int
    removed: int
    shared: frozenset[int]
    near: frozenset[int]


class _Commit(NamedTuple):
    sha: str
    author: str
    mail: str
    seconds: str
    subject: str


def incoming(repository: Repository, merge: Merge, ours: Ours) -> Incoming:
    """Upstream's changes on its main line that touch what we carry or use.

    Where contents are missing, files are compared and lines are not.
    """
    if merge.downstream is None and not merge.used:
        return Incoming((), 0)
    paths = _shared_paths(repository, merge)
    steps = _main_line(repository, merge) if paths else []
    if not steps:
        return Incoming((), 0)
    note = ""
    try:
        touches = list(_touches(repository, merge, steps, paths))
    except MissingObjectError as error:
        found = commit_edits(repository, steps, paths, contents=False)
        touches = [
            _Touch(sha, path, 0, 0, frozenset(), frozenset())
            for sha, files in found
            for path in files
        ]
        note = f"incoming changes are ranked by files, not by lines: {error.message}"
    compared = not note and merge.downstream is not None
    changes = [
        _pull(commits, done, ours, counted=not note, compared=compared)
        for commits, done in _grouped(repository, touches)
    ]
    changes.sort(key=_rank)
    return Incoming(tuple(changes[:LISTED]), len(changes), (note,) if note else ())


def _rank(change: IncomingPull) -> tuple[int, int, int, int]:
    lines = (change.lines_added or 0) + (change.lines_removed or 0)
    return -(change.overlap_lines or 0), -(change.near_lines or 0), -lines, -change.files_count


def _shared_paths(repository: Repository, merge: Merge) -> list[str]:
    """Files that upstream changed and that we changed too, or use."""
    theirs = {change.path for change in net_changes(repository, merge.base, merge.upstream)}
    ours = set(merge.used)
    if merge.downstream is not None:
        ours |= {change.path for change in net_changes(repository, merge.base, merge.downstream)}
    return sorted(theirs & ours)


def _main_line(repository: Repository, merge: Merge) -> list[Step]:
    """Upstream's first-parent commits since the base, oldest first, each with its parent."""
    walk = (
        "rev-list",
        "--first-parent",
        "--reverse",
        "--parents",
        merge.upstream,
        f"^{merge.base}",
    )
    rows = [line.split(" ") for line in read(repository, *walk).text.splitlines()]
    return [Step(sha, parents[0]) for sha, *parents in rows if parents]


def _touches(
    repository: Repository, merge: Merge, steps: Sequence[Step], paths: Sequence[str]
) -> Iterator[_Touch]:
    ours = _our_lines(repository, merge, paths)
    present: dict[str, FileLines] = defaultdict(FileLines)
    if steps[0].parent != merge.base:  # the main line begins elsewhere: follow the lines there
        for _, files in commit_edits(repository, [Step(steps[0].parent, merge.base)], paths):
            for path, found in files.items():
                present[path].apply(found.edits)
    for sha, files in commit_edits(repository, steps, paths):
        for path, found in files.items():
            lines, mine = present[path].apply(found.edits), ours.get(path, set())
            beside = {line + step for line in mine for step in (-1, 1)} - mine
            shared, near = frozenset(lines & mine), frozenset(lines & beside)
            yield _Touch(sha, path, found.added, found.removed, shared, near)


def _our_lines(repository: Repository, merge: Merge, paths: Sequence[str]) -> dict[str, set[int]]:
    """The lines of the base that we changed, by path."""
    if merge.downstream is None:
        return {}
    step = Step(merge.downstream, merge.base)
    return {
        path: FileLines().apply(found.edits)
        for _, files in commit_edits(repository, [step], paths)
        for path, found in files.items()
    }


def _grouped(
    repository: Repository, touches: Iterable[_Touch]
) -> Iterator[tuple[list[_Commit], list[_Touch]]]:
    """The commits of each pull request with what they touched; a commit that names none, alone."""
    by_sha: dict[str, list[_Touch]] = defaultdict(list)
    for touch in touches:
        by_sha[touch.sha].append(touch)
    groups: dict[int | str, list[_Commit]] = defaultdict(list)
    for commit in _described(repository, list(by_sha)):
        number = pull_request(commit.subject)
        groups[commit.sha if number is None else number].append(commit)
    for commits in groups.values():
        yield commits, [touch for commit in commits for touch in by_sha[commit.sha]]


def _described(repository: Repository, shas: Sequence[str]) -> Iterator[_Commit]:
    if not shas:
        return
    form = ("--encoding=UTF-8", "--format=%an%x00%ae%x00%ct%x00%s")
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    found = read(repository, "rev-list", "--no-walk=unsorted", "--stdin", *form, stdin=asked)
    lines = found.text.split("\n")[:-1]
    for head, line in zip(lines[0::2], lines[1::2], strict=True):
        yield _Commit(head.removeprefix("commit "), *line.split("\0", 3))


def _pull(
    commits: Sequence[_Commit],
    touches: Sequence[_Touch],
    ours: Ours,
    *,
    counted: bool,
    compared: bool,
) -> IncomingPull:
    """One change; several commits of a pull request (a revert and its return, say) count as one."""
    last = commits[-1]
    number = pull_request(last.subject)
    paths = sorted({touch.path for touch in touches})
    shared = {(touch.path, line) for touch in touches for line in touch.shared}
    near = {(touch.path, line) for touch in touches for line in touch.near}
    mine = number in ours.numbers or any(one.mail.lower() in ours.mails for one in commits)
    page = f"{ours.site}/pull/{number}" if number is not None else f"{ours.site}/commit/{last.sha}"
    return IncomingPull(
        number=number,
        sha=last.sha,
        commits=len(commits),
        subject=readable_text(last.subject),
        author=readable_text(last.author),
        merged_at=moment(last.seconds),
        url=page if ours.site else None,
        ours=mine,
        files=tuple(readable_path(path) for path in paths[:FILES_LISTED]),
        files_count=len(paths),
        overlap_lines=len(shared) if compared else None,
        near_lines=len(near) if compared else None,
        lines_added=sum(touch.added for touch in touches) if counted else None,
        lines_removed=sum(touch.removed for touch in touches) if counted else None,
    )
