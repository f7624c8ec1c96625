"""The upstream commits that bring the conflicts, and how far one can merge without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import Detail, folded, more, name, table, words
from ciwm.report.sync_words import scanned

if TYPE_CHECKING:
    from ciwm.records.sync import Conflicts


def culprits(conflicts: Conflicts, detail: Detail) -> str:
    """What the scan found in sentences, and its commits folded; empty when there was no scan."""
    shown = conflicts.culprits[: detail.items]
    rows = [
        (
            name(culprit.sha[:12]),
            words(f"#{culprit.pr}", 20) if culprit.pr else "",
            f"{len(culprit.files):,}",
            words(culprit.subject, 120),
        )
        for culprit in shown
    ]
    listed = (
        folded(
            f"Upstream commits that bring the conflicts: {len(conflicts.culprits):,}, oldest first",
            table(("Commit", "PR", ">Files", "Subject"), rows),
            more(len(shown), len(conflicts.culprits), "commits").strip(),
        )
        if rows
        else ""
    )
    return "\n\n".join(part for part in (" ".join(scanned(conflicts, name)), listed) if part)
