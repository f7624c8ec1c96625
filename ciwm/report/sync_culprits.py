"""The upstream commits that bring the conflicts, and how far one can merge without any."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.report.detail import Detail, folded, more, name, table, words
from ciwm.report.sync_words import authors_hit, scanned

if TYPE_CHECKING:
    from ciwm.records.sync import Conflicts, Culprit

_PAGE = re.compile(r"https://github\.com/([\w.-]{1,100}/[\w.-]{1,100}/pull/\d{1,12})", re.ASCII)


def culprits(conflicts: Conflicts, detail: Detail) -> str:
    """What the scan found in sentences, and its commits folded; empty when there was no scan."""
    shown = conflicts.culprits[: detail.items]
    rows = [
        (
            name(culprit.sha[:12]),
            _pull_request(culprit),
            f"{culprit.file_count:,}",
            words(authors_hit(culprit), 100),
            words(culprit.subject, 120),
        )
        for culprit in shown
    ]
    listed = (
        folded(
            f"Upstream commits that bring the conflicts: {len(conflicts.culprits):,}, oldest first",
            table(("Commit", "PR", ">Files", "Hits commits of", "Subject"), rows),
            more(len(shown), len(conflicts.culprits), "commits").strip(),
        )
        if rows
        else ""
    )
    return "\n\n".join(part for part in (" ".join(scanned(conflicts, name)), listed) if part)


def _pull_request(culprit: Culprit) -> str:
    """The number, linked so that upstream's pull request is not told of each of our comments.

    GitHub does not follow redirect.github.com when it looks for mentions.
    """
    if culprit.pr is None:
        return ""
    page = _PAGE.fullmatch(culprit.url or "")
    if page is None:
        return words(f"#{culprit.pr}", 20)
    return f"[{culprit.pr}](https://redirect.github.com/{page[1]})"
