"""What became of each carried commit: upstream has it, seems to have it, nothing is left, or live.

Only an equal patch id proves anything; the rest is evidence for a person, and never subtracted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.errors import GitError
from ciwm.records.sync_states import CommitsByState
from ciwm.upstream.commit_changes import commit_changes
from ciwm.upstream.gaps import blobs, missing_objects
from ciwm.upstream.history import described
from ciwm.upstream.leftovers import Carried, Work, lives_on
from ciwm.upstream.line_diffs import commit_diffs
from ciwm.upstream.markers import carried_diff
from ciwm.upstream.objects import raw_objects
from ciwm.upstream.patches import patch_ids
from ciwm.upstream.reading import read
from ciwm.upstream.references import landed, texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ciwm.git import Repository
    from ciwm.records.sync import CarriedCommit, SyncReport
    from ciwm.records.sync_states import CommitState
    from ciwm.upstream.debt import Change
    from ciwm.upstream.line_diffs import Diff
    from ciwm.upstream.measure import Measured

SHORTEST = 8  # characters of a line that says something, spaces apart
FEWEST_LINES = 3  # that can be evidence of a commit in upstream's files
ENOUGH = 0.9  # of a commit's lines
BLOBS_AT_ONCE = 200


@dataclass
class States:
    """The state of each carried commit with a sentence of evidence, and equal commits."""

    found: dict[str, tuple[CommitState, str]] = field(default_factory=dict)
    upstreamed: tuple[CarriedCommit, ...] = ()

    @property
    def counts(self) -> CommitsByState:
        """Commits by state."""
        counts = Counter(state for state, _ in self.found.values())
        return CommitsByState(
            upstreamed=len(self.upstreamed),
            likely_upstreamed=counts["likely_upstreamed"],
            dead=counts["dead"],
            live=counts["live"],
        )

    def told(self, commits: Iterable[CarriedCommit]) -> tuple[CarriedCommit, ...]:
        """The commits with their states."""
        return tuple(
            commit.model_copy(update=dict(zip(("state", "evidence"), known, strict=True)))
            if (known := self.found.get(commit.sha))
            else commit
            for commit in commits
        )


Lines = dict[str, frozenset[bytes]]  # by path, without the spaces around them


@dataclass(frozen=True)
class _Ours:
    """What a commit, or the net difference, changes: telling lines, and paths without a line."""

    added: Lines = field(default_factory=dict)
    removed: Lines = field(default_factory=dict)
    whole: frozenset[tuple[str, str]] = frozenset()  # path and new id of a binary, say
    shortest: int = SHORTEST  # characters of these lines

    @property
    def size(self) -> int:
        """How many things it changes."""
        lines = (*self.added.values(), *self.removed.values())
        return sum(map(len, lines)) + len(self.whole)

    @property
    def new(self) -> Lines:
        """Added lines that tell something and were not merely moved."""
        if self.shortest < SHORTEST:
            return {}
        moved = frozenset[bytes]().union(*self.removed.values())
        return {path: lines - moved for path, lines in self.added.items()}


def _ours(changes: Sequence[Change], diff: Diff, wanted: Sequence[int] = (SHORTEST, 1, 0)) -> _Ours:
    """The lines of at least so many characters; shorter ones only where there are no others."""
    parts = [(path, each.added, each.removed) for path, each in diff.items()]
    added = {path: _telling(lines, wanted[0]) for path, lines, _ in parts}
    removed = {path: _telling(lines, wanted[0]) for path, _, lines in parts}
    if len(wanted) > 1 and not any((*added.values(), *removed.values())):
        return _ours(changes, diff, wanted[1:])
    lineless = {path for path, *lines in parts if not any(lines)}
    return _Ours(
        {path: lines for path, lines in added.items() if lines},
        {path: lines for path, lines in removed.items() if lines},
        frozenset((each.path, each.new_id) for each in changes if each.path in lineless),
        wanted[0],
    )


def _telling(lines: Iterable[bytes], shortest: int) -> frozenset[bytes]:
    bare = {line.strip() for line in lines}
    return frozenset([line for line in bare if len(line) - line.count(b" ") >= shortest])


def commit_states(repository: Repository, measured: Measured) -> States:
    """The state of every carried commit; a commit whose contents are not here counts as live.

    Raises MissingObjectError where the net difference itself cannot be read.
    """
    own, upstream = measured.commits.history, measured.pair.upstream
    messages = dict(texts(repository, own.carried, "%B"))
    with ThreadPoolExecutor(2) as pool:  # git reads on while we take apart what it read
        merged = pool.submit(landed, repository, upstream, messages.values())
        kept = pool.submit(_net, repository, measured)
        changes = commit_changes(repository, own.carried)
        blobs_of = {sha: _all(each) for sha, each in changes.items()}
        absent = missing_objects(repository, frozenset().union(*blobs_of.values()))
        whole = {sha: each for sha, each in changes.items() if not blobs_of[sha] & absent}
        ours = {sha: _ours(whole[sha], diff) for sha, diff in commit_diffs(repository, whole)}
        theirs = _shared_lines(repository, upstream, ours.values())
        states = States(upstreamed=_upstreamed(repository, measured))
        pulls, net = merged.result(), kept.result()
    for sha in own.carried:
        if sha in changes and sha not in whole:
            states.found[sha] = ("live", "not compared: some of its contents are not here")
        else:
            named = pulls.match(messages[sha])
            states.found[sha] = _state(named, ours.get(sha, _Ours()), theirs, net)
    works = {sha: _work(whole[sha], each) for sha, each in ours.items()}
    gone = {sha for sha in works if states.found[sha][0] == "dead"}
    left = Carried(net.lines.added, net.lines.whole, net.changes)
    reasons = lives_on(repository, measured.pair, works, gone, left)
    states.found |= {sha: ("live", reason) for sha, reason in reasons.items()}
    return states


def _all(changes: Iterable[Change]) -> set[str]:
    return {blob for change in changes for blob in blobs(change)}


def _work(changes: Sequence[Change], ours: _Ours) -> Work:
    made = frozenset(each.path for each in changes if each.status == "A")
    return Work([each.path for each in changes], ours.added, ours.removed, ours.whole, made)


def _state(
    named: str, commit: _Ours, theirs: Mapping[str, set[bytes]], net: _Net
) -> tuple[CommitState, str]:
    if named:
        return "likely_upstreamed", named
    new = commit.new
    total = sum(map(len, new.values()))
    there = sum(len(lines & theirs.get(path, set())) for path, lines in new.items())
    if total >= FEWEST_LINES and there >= ENOUGH * total:
        return "likely_upstreamed", f"{there:,} of its {total:,} lines are in upstream's files"
    if not commit.size:
        return "dead", "it changes nothing"
    left = net.survivors(commit)
    if not left:
        return "dead", f"nothing is left of what it changed ({_lines(commit.size)})"
    return "live", f"still carried: {left:,} of {_lines(commit.size)}"


def _lines(number: int) -> str:
    return f"{number:,} {'line' if number == 1 else 'lines'}"


@dataclass(frozen=True)
class _Net:
    """The net difference that is carried; `anywhere` are its added lines whatever the path."""

    lines: _Ours
    anywhere: frozenset[bytes]
    changes: Sequence[Change] = ()

    def survivors(self, commit: _Ours) -> int:
        """How many of a commit's changes are still part of it; a file may have been renamed."""
        here = self.lines
        added = sum(  # never a union of all lines: with many files that would take for ever
            len((lines & here.added.get(path, frozenset())) | (lines & self.anywhere))
            for path, lines in commit.added.items()
        )
        removed = sum(
            len(lines & here.removed.get(path, frozenset()))
            for path, lines in commit.removed.items()
        )
        return added + removed + len(commit.whole & here.whole)


def _net(repository: Repository, measured: Measured) -> _Net:
    diff = carried_diff(repository, measured)
    changes = measured.changes.downstream if measured.changes else ()
    lines = _ours(changes, diff, (0,))
    telling = (line for found in lines.added.values() for line in found)
    return _Net(lines, _telling(telling, SHORTEST), changes)


def _shared_lines(
    repository: Repository, upstream: str, ours: Iterable[_Ours]
) -> dict[str, set[bytes]]:
    """By path, the lines that carried commits add and upstream's file has too.

    Upstream's files are read some at a time, so that memory grows with what is carried.
    """
    wanted: dict[str, set[bytes]] = defaultdict(set)
    for commit in ours:
        for path, lines in commit.new.items():
            wanted[path] |= lines
    listed = read(repository, "ls-tree", "-r", "-z", upstream).text.split("\0")[:-1]
    entries = (entry.split("\t", 1) for entry in listed)
    ids = {path: meta.split(" ")[2] for meta, path in entries if path in wanted}
    shared = {}
    for start in range(0, len(ids), BLOBS_AT_ONCE):
        chunk = list(ids)[start : start + BLOBS_AT_ONCE]
        contents = raw_objects(repository, {ids[path] for path in chunk})
        for path in chunk:
            there = {line.strip() for line in contents.get(ids[path], b"").split(b"\n")}
            shared[path] = wanted[path] & there
    return shared


def _upstreamed(repository: Repository, measured: Measured) -> tuple[CarriedCommit, ...]:
    """Downstream commits whose patch upstream has, each with the commit that has it."""
    own = measured.commits.history
    if not own.upstreamed:
        return ()
    ids = patch_ids(repository, own.equal)
    theirs = {ids[sha]: sha for sha in own.equal if sha in own.upstream and sha in ids}
    commits = described(repository, [sha for sha in own.downstream if sha in own.equal])
    return tuple(
        commit.model_copy(
            update={
                "state": "upstreamed",
                "evidence": f"the same patch as upstream's {theirs[ids[commit.sha]][:12]}",
            }
        )
        for commit in commits
    )


def attempt_states(repository: Repository, measured: Measured) -> States | str:
    """The states, or the sentence that says why there are none."""
    try:
        return commit_states(repository, measured)
    except GitError as error:
        return f"what became of carried commits cannot be told: {error.message}"


def with_states(report: SyncReport, states: States | str) -> SyncReport:
    """The report with the state of each carried commit, or a note on why there is none."""
    if report.carried is None:
        return report
    if isinstance(states, str):
        return report.model_copy(update={"notes": (*report.notes, states)})
    carried = report.carried.model_copy(
        update={
            "commits_by_state": states.counts,
            "list": states.told(report.carried.list),
            "upstreamed": states.upstreamed,
        }
    )
    return report.model_copy(update={"carried": carried})
