"""Squashed syncs: one commit, one parent, and in it the work of many upstream commits.

Git does not know that such a commit synced anything: the merge base stays the one before it, and
the next merge meets all that work once more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ciwm.records.sync_shape import SquashedSync
from ciwm.upstream.commit_changes import commit_changes, grouped_changes
from ciwm.upstream.dates import committed_at
from ciwm.upstream.debt import net_changes
from ciwm.upstream.history import described, plain
from ciwm.upstream.names import readable_path
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from ciwm.git import Repository
    from ciwm.records.sync import CarriedCommit
    from ciwm.upstream.debt import Change
    from ciwm.upstream.measure import Measured

FEWEST_FILES = 3  # of a sync that says it is one
MANY_FILES = 50  # that make a commit suspect whatever it says
ENOUGH = 0.5  # of the files, holding what upstream has
SHOWN = 20

_SUBJECT = re.compile(
    r"\bupstream[ _-]*(?:merge|sync)|\b(?:IFU|sync|synced|syncing|rebased?|merged?|merging)\b"
    r"(?=.*(?:\bupstream\b|\bmain\b|\bmaster\b|\bv?\d+\.\d+))",
    re.IGNORECASE,
)
_PIN = re.compile(r"(?:^|/)[^/]*(?:upstream|verified|pin)[^/]*(?:commit|sha|rev|version)[^/]*$")


class _Suspect(NamedTuple):
    commit: CarriedCommit
    changes: tuple[Change, ...]
    reason: str


def squashed_syncs(repository: Repository, measured: Measured) -> tuple[SquashedSync, ...]:
    """Downstream commits that look like squashed syncs, newest first, those long healed last.

    Younger than the merge base, a commit has to hold what upstream holds; older ones only have to
    say what they are. Raises GitError for trees that are not here.
    """
    suspects = _suspects(repository, measured)
    if not suspects:
        return ()
    dates = committed_at(repository, [suspect.commit.sha for suspect in suspects])
    base = measured.merge_bases[0]
    late = [each for each in suspects if dates[each.commit.sha] > measured.dates[base]]
    early = [each for each in suspects if each not in late and len(each.changes) >= MANY_FILES]
    found = []
    if late:
        until = max(dates[each.commit.sha] for each in late)
        line = _upstream_line(repository, base, measured.pair.upstream, until)
        found = [_matched(each, _since(repository, base, each), line) for each in late[:SHOWN]]
    healed = [_sync(each, healed=True) for each in early if _SUBJECT.search(each.commit.subject)]
    return tuple([sync for sync in found if sync is not None] + healed[:SHOWN])


def _suspects(repository: Repository, measured: Measured) -> list[_Suspect]:
    """Own commits with one parent that say they sync, move a pin, or change very many files."""
    own = measured.commits.history
    single = [sha for sha in plain(own.downstream) if len(own.downstream[sha]) == 1]
    changes = commit_changes(repository, single)
    worth = [sha for sha in single if len(changes.get(sha, ())) >= FEWEST_FILES]
    return [
        _Suspect(commit, changes[commit.sha], reason)
        for commit in described(repository, worth)
        if (reason := _reason(commit.subject, changes[commit.sha]))
    ]


def _reason(subject: str, changes: Sequence[Change]) -> str:
    if _SUBJECT.search(subject):
        return "its subject says so"
    pin = next((change.path for change in changes if _PIN.search(change.path)), None)
    if pin is not None:
        return f"it changes {readable_path(pin)}"
    return f"it changes {len(changes):,} files" if len(changes) >= MANY_FILES else ""


def _upstream_line(
    repository: Repository, base: str, tip: str, until: datetime
) -> list[tuple[str, tuple[Change, ...]]]:
    """What each main-line commit after `base` changed, oldest first.

    None is younger than `until`: what a sync brought was there before it.
    """
    found = read(
        repository,
        *("log", "--first-parent", "--reverse", "--diff-merges=first-parent", "--format=%H"),
        *("--raw", "-r", "--no-renames", "--no-abbrev", "--no-show-signature", "-z"),
        *(f"--until={until.isoformat()}", f"{base}..{tip}"),
    )
    return list(grouped_changes(field for field in found.text.split("\0") if field))


def _since(repository: Repository, base: str, suspect: _Suspect) -> dict[str, str]:
    """Contents at the suspect by path, for paths that are other than at the merge base."""
    return {
        change.path: change.new_id for change in net_changes(repository, base, suspect.commit.sha)
    }


def _matched(
    suspect: _Suspect,
    since_base: Mapping[str, str],
    line: Iterable[tuple[str, tuple[Change, ...]]],
) -> SquashedSync | None:
    """The suspect with the earliest upstream commit that most of its files agree with."""
    wanted = {
        change.path: since_base[change.path]
        for change in suspect.changes
        if change.path in since_base
    }
    agreeing: set[str] = set()
    best, synced_to = 0, None
    for sha, changes in line:
        for change in changes:
            if wanted.get(change.path) == change.new_id:
                agreeing.add(change.path)
            else:
                agreeing.discard(change.path)
        if len(agreeing) > best:
            best, synced_to = len(agreeing), sha
    if best < max(FEWEST_FILES, ENOUGH * len(wanted)):
        return None
    return _sync(suspect, files=len(wanted), upstream_files=best, synced_to=synced_to)


def _sync(suspect: _Suspect, **found: Any) -> SquashedSync:
    commit = suspect.commit
    values = {"files": len(suspect.changes), **found}
    return SquashedSync(sha=commit.sha, subject=commit.subject, reason=suspect.reason, **values)
