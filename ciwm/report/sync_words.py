"""The sentences that the terminal and the comment share."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ciwm.report.figures import plural
from ciwm.report.sync_drift import drift_answer, drift_facts
from ciwm.report.sync_patches import patch_facts, patches_answer
from ciwm.report.sync_states import state_facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.records.sync import Conflicts, Culprit, SyncReport

AUTHORS_SHOWN = 2

_FULL_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def lines(added: int, removed: int) -> str:
    """Lines added and removed."""
    return f"+{added:,} -{removed:,} lines"


def short_ref(ref: str) -> str:
    """A revision as it was named; a full commit id by its first 12 digits."""
    return ref[:12] if _FULL_ID.fullmatch(ref) else ref


def signed(added: int, removed: int) -> tuple[str, str]:
    """Lines added and removed, as two cells."""
    return f"+{added:,}" if added else "0", f"-{removed:,}" if removed else "0"


def answer(report: SyncReport, quote: Callable[[str], str] = str) -> str:
    """What the merge would cost, in one sentence; `quote` makes names fit the page."""
    if report.surface is not None:
        return drift_answer(report, quote)
    if report.patches is not None:
        return patches_answer(report, quote)
    upstream, downstream = (
        quote(short_ref(ref)) for ref in (report.upstream.ref, report.downstream.ref)
    )
    if report.behind.commits == 0:
        return f"{downstream} already holds all of {upstream}: nothing to merge."
    conflicts, merging = report.conflicts, f"Merging {upstream} into {downstream}"
    if conflicts is None:
        return f"{merging} could not be tried (see the notes)."
    if conflicts.clean:
        return f"{merging} is clean{', as far as it could be tried' if report.partial else ''}."
    return (
        f"{merging} conflicts in {_at_least(report)}{plural(conflicts.count, 'file')} "
        f"({plural(conflicts.hunks, 'hunk')})."
    )


def facts(report: SyncReport, quote: Callable[[str], str] = str) -> list[tuple[str, str]]:
    """The figures by name; those that could not be measured say so."""
    if report.surface is not None:
        return drift_facts(report, quote)
    behind, base = report.behind, report.merge_base
    more = len(report.merge_bases) - 1
    main_line = f"({behind.first_parent} on the main line)"
    return [
        ("upstream", f"{quote(report.upstream.ref)} at {quote(report.upstream.sha[:12])}"),
        ("downstream", f"{quote(report.downstream.ref)} at {quote(report.downstream.sha[:12])}"),
        ("merge base", quote(base[:12]) + (f" and {more} more" if more else "")),
        ("behind", f"{plural(behind.commits, 'commit')} {main_line}, {behind.days:.1f} days"),
        ("ahead", plural(report.ahead.commits, "commit")),
        ("carried", _carried(report)),
        *_intrusive(report),
        *state_facts(report),
        *patch_facts(report),
        ("changed on both sides", _overlap(report)),
    ]


def _at_least(report: SyncReport) -> str:
    """What stands before a figure that leaves out files whose contents are missing."""
    return "at least " if report.lacks_contents else ""


def _carried(report: SyncReport) -> str:
    carried = report.carried
    if carried is None:
        return "not measured"
    binaries = f", {plural(carried.binaries, 'binary', 'binaries')}" if carried.binaries else ""
    already = f" ({carried.upstreamed_commits} more upstream already)"
    return (
        f"{plural(carried.commits, 'commit')}{already if carried.upstreamed_commits else ''}, "
        f"{plural(carried.files, 'file')}{binaries}, "
        f"{_at_least(report)}{lines(carried.lines_added, carried.lines_removed)}"
    )


def _intrusive(report: SyncReport) -> list[tuple[str, str]]:
    """Of what is carried, the part in upstream's own files: only this can conflict by content."""
    carried = report.carried
    if carried is None or carried.intrusive is None or carried.deleted is None:
        return []
    inside, gone = carried.intrusive, carried.deleted
    changed = f"{_at_least(report)}{lines(inside.lines_added, inside.lines_removed)}"
    fact = f"{plural(inside.files, 'file')}, {changed}"
    removed = f"; {plural(gone.files, 'file')} removed" if gone.files else ""
    return [("changed in place", fact + removed)]


def _overlap(report: SyncReport) -> str:
    return "not measured" if report.overlap is None else plural(report.overlap.files, "file")


def scanned(conflicts: Conflicts, quote: Callable[[str], str] = str) -> list[str]:
    """What the search for culprits found, and how far it came."""
    scan, first = conflicts.scan, conflicts.first
    if scan is None:
        return []
    sentences = []
    if first is not None and first.index == 0:
        sentences.append(f"The first upstream commit, {quote(first.sha[:12])}, already conflicts.")
    elif first is not None:
        sentences.append(
            f"You can merge up to {quote(first.clean_up_to[:12])} cleanly today "
            f"({first.index} of {plural(scan.total, 'main-line commit')}); "
            f"{quote(first.sha[:12])} is the first that conflicts."
        )
    if scan.sampled:
        sentences.append(
            f"Time allowed to try {scan.tried} of {scan.total}: "
            "a commit shown may stand for one shortly before it."
        )
    return sentences


def authors_hit(culprit: Culprit) -> str:
    """Whose commits a culprit's conflicts are in: the most commits first, a few of them."""
    if culprit.hits is None:
        return "not looked up"
    commits = Counter(hit.author for hit in culprit.hits)
    named = [
        f"{author} ({count})" if count > 1 else author
        for author, count in commits.most_common(AUTHORS_SHOWN)
    ]
    more = len(commits) - AUTHORS_SHOWN
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
