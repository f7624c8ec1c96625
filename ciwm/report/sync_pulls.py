"""How our pull requests fare upstream, and what is coming: in words, and in the comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import Detail, folded, more, name, shortened, table, words
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from ciwm.records.sync_pulls import IncomingPull, OpenPull, Pulls, Share, Within

NOTES = 10
_AUTHORS = 8
_TITLE = 80


def pulls_details(pulls: Pulls | None, detail: Detail) -> str:
    """The Markdown: notes in the open, the rest folded as far as `detail` has room."""
    if pulls is None:
        return ""
    notes = "\n".join(f"- {words(note)}" for note in pulls.notes[:NOTES])
    if not detail.items:
        return "\n\n".join(filter(None, (notes, words(counts(pulls)))))
    parts = [notes]
    if pulls.merged_within is not None:
        parts.append(_ours(pulls, detail))
    if pulls.incoming:
        parts.append(_coming(pulls, detail))
    return "\n\n".join(filter(None, parts))


def _ours(pulls: Pulls, detail: Detail) -> str:
    shown = pulls.waiting[: detail.items]
    waiting = [[name(cell[0]), *map(words, cell[1:])] for cell in map(waiting_row, shown)]
    return folded(
        f"Our pull requests upstream: {words(counts(pulls))}",
        words(sentence(pulls)),
        table(
            ("Within", "7 days", "30 days", "90 days"),
            [[words(cell) for cell in row] for row in rows(pulls)],
        ),
        table(("PR", ">Waits", "Answered", "Title"), waiting) if waiting else "",
        more(len(shown), pulls.open or 0, "open").strip(),
    )


def _coming(pulls: Pulls, detail: Detail) -> str:
    shown = pulls.incoming[: detail.items]
    rows = [[name(cell[0]), *map(words, cell[1:])] for cell in map(incoming_row, shown)]
    count = pulls.incoming_count or len(pulls.incoming)
    return folded(
        f"Incoming upstream changes to files we carry or use: {count:,}",
        table(("Change", ">Shared lines", ">Its lines", ">Files", "Subject"), rows)
        + more(len(shown), count, "changes"),
    )


def counts(pulls: Pulls) -> str:
    """How many of ours are open, merged and closed; without those, how many are coming."""
    if pulls.open is None:
        number = pulls.incoming_count
        if number is None:
            return ""
        return f"{plural(number, 'incoming upstream change')} to files we carry or use"
    drafts = f" ({plural(pulls.drafts, 'draft')})" if pulls.drafts else ""
    return f"{pulls.open:,} open{drafts}, {pulls.merged:,} merged, {pulls.closed:,} closed unmerged"


def sentence(pulls: Pulls) -> str:
    """Whose they are, and how long half of them take."""
    shown = ", ".join(f"@{login}" for login in pulls.authors[:_AUTHORS])
    others = len(pulls.authors) - _AUTHORS
    who = f"{shown}{f' and {others} more' if others > 0 else ''}"
    since = f", made since {pulls.since:%Y-%m-%d}" if pulls.since else ""
    return (
        f"At {pulls.repository} by {who}{since}, counted from ready for review: "
        f"{_half(pulls.median_days_to_response, 'answered')}, "
        f"{_half(pulls.median_days_to_merge, 'merged')}. In parentheses: 95% intervals."
    )


def _half(days: float | None, done: str) -> str:
    return (
        f"fewer than half are {done} so far"
        if days is None
        else f"half are {done} in {_days(days)}"
    )


def _days(days: float) -> str:
    return f"{24 * days:.1f} hours" if days < 2 else f"{days:.1f} days"  # noqa: PLR2004


def rows(pulls: Pulls) -> list[list[str]]:
    """What happened to ours within 7, 30 and 90 days, a row each."""
    named = (
        ("answered", pulls.answered_within),
        ("merged", pulls.merged_within),
        ("closed unmerged", pulls.closed_within),
    )
    return [[f"{what} (n={within.d7.n:,})", *_cells(within)] for what, within in named if within]


def _cells(within: Within) -> list[str]:
    return [_share(share) for share in (within.d7, within.d30, within.d90)]


def _share(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "not known yet"
    return f"{100 * share.value:.0f}% ({100 * share.low:.0f}–{100 * share.high:.0f}%)"


def waiting_row(pull: OpenPull) -> list[str]:
    """Number, wait, whether somebody answered, and title of one that is open."""
    waits = "draft" if pull.waiting_days is None else _days(pull.waiting_days)
    title = shortened(pull.title, _TITLE)
    return [f"#{pull.number}", waits, "yes" if pull.answered else "no", title]


def incoming_row(change: IncomingPull) -> list[str]:
    """Number or commit, lines shared with ours, its own lines, files, and subject."""
    which = f"#{change.number}" if change.number is not None else change.sha[:12]
    shared = "?" if change.overlap_lines is None else f"{change.overlap_lines:,}"
    lines = "?" if change.lines_added is None else f"+{change.lines_added} −{change.lines_removed}"
    ours = "(ours) " if change.ours else ""
    subject = shortened(f"{ours}{change.subject}", _TITLE)
    return [which, shared, lines, f"{change.files_count:,}", subject]
