"""The team's own history in a sync report: past syncs, and what they foretell."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ciwm.errors import GitError
from ciwm.launch.kept_record import keep_record, kept_record
from ciwm.records.base import RecordFile
from ciwm.records.sync_history import PastSync  # noqa: TC001  pydantic reads it at run time
from ciwm.upstream.forecast import can_merge
from ciwm.upstream.mainline.kept_scan import merge_settings
from ciwm.upstream.syncs.forecast import FEWEST_SYNCS, Outlook, forecast
from ciwm.upstream.syncs.past import commits_per_week, find_past_syncs
from ciwm.upstream.syncs.replay import replay
from ciwm.upstream.syncs.summary import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.git import Repository
    from ciwm.records.sync import SyncReport
    from ciwm.upstream.measure import Measured
    from ciwm.upstream.syncs.past import PastSyncs

FORM = 3  # of what is kept; to be raised when the same syncs would give other figures


class KeptReplays(RecordFile):
    """Past syncs that were replayed already, under the settings merges went by."""

    settings: str
    syncs: tuple[PastSync, ...]


def with_history(
    repository: Repository, measured: Measured, report: SyncReport, budget_s: float
) -> SyncReport:
    """The report with past syncs and a forecast; about `budget_s` go into syncs not replayed yet.

    `repository` fetches nothing. What git cannot tell becomes a note.
    """
    try:
        if not can_merge(repository):
            return report  # the trial merge has said so
        return _with_history(repository, measured, report, budget_s)
    except GitError as error:
        note = f"past syncs could not be looked at: {error.message}"
        return report.model_copy(update={"notes": (*report.notes, note)})


def _with_history(
    repository: Repository, measured: Measured, report: SyncReport, budget_s: float
) -> SyncReport:
    past = find_past_syncs(repository, measured.commits.history)
    if not past.syncs:
        return report
    syncs, notes = _replayed(repository, past, budget_s)
    if past.wide:
        notes.append(f"{past.wide} more merges are left out: they have more than two parents")
    history = summary(past, syncs, report.generated_at, notes)
    # git takes long to count the pace, which nobody asks for where there is no forecast
    foretold = len(syncs) >= FEWEST_SYNCS
    outlook = Outlook(
        report.behind.first_parent,
        commits_per_week(repository, measured.pair.upstream) if foretold else 0,
        report.conflicts.count if report.conflicts and not report.partial else None,
    )
    return report.model_copy(
        update={
            "syncs": tuple(syncs),
            "sync_history": history,
            "forecast": forecast(syncs, outlook),
        }
    )


def _replayed(
    repository: Repository, past: PastSyncs, budget_s: float
) -> tuple[list[PastSync], list[str]]:
    """Each sync from an earlier report or by replay, newest first, and what should be said."""
    settings = merge_settings(repository)
    # named by the oldest sync, which stays the same while the history grows
    name = hashlib.sha256(f"{FORM} {settings} {past.syncs[-1].merge}".encode()).hexdigest()[:32]
    kept, note = kept_record("replays", name, KeptReplays)
    if kept is not None and kept.settings != settings:
        kept, note = None, "what an earlier report kept is of no use: other settings"
    known = {sync.merge: sync for sync in kept.syncs} if kept else {}
    wanted = [sync for sync in past.syncs if sync.merge not in known]
    made = replay(repository, past, wanted, budget_s)
    notes = [note, *_words(made.failed), _cut(len(wanted), len(made.syncs) + len(made.failed))]
    if made.syncs:
        known |= {sync.merge: sync for sync in made.syncs}
        keep = KeptReplays(settings=settings, syncs=tuple(known.values()))
        notes.append(keep_record("replays", name, keep))
    syncs = [known[sync.merge] for sync in past.syncs if sync.merge in known]
    return syncs, [note for note in (*notes, *_partial(syncs)) if note]


def _words(failed: dict[str, str]) -> list[str]:
    """The first of git's failures, and how many there are."""
    first = next(iter(failed.values()), "")
    return [f"git could not replay {len(failed)} of them: {first}"] if failed else []


def _cut(wanted: int, made: int) -> str:
    if made >= wanted:
        return ""
    return (
        f"{wanted - made} older ones are not replayed yet, for want of time: "
        "`ciwm sync-report --history` takes what it needs, and later reports know them"
    )


def _partial(syncs: Sequence[PastSync]) -> list[str]:
    partly = sum(sync.unread_files > 0 for sync in syncs)
    if not partly:
        return []
    return [f"{partly} of them are replayed without files whose contents are missing here"]
