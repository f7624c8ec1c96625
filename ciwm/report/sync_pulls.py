"""How our pull requests fare upstream, and what is coming: for the comment and the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from ciwm.report.detail import Detail, folded, more, name, shortened, table, words
from ciwm.report.escape import visible
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ciwm.records.sync_pulls import IncomingPull, OpenPull, Pulls, Share, Within

_NOTES = 10
_AUTHORS = 8
_ROWS = 10  # of a list on the terminal
_TITLE = 80
_WITHIN = ("", "7 days", "30 days", "90 days")
_WAITING = ("PR", "waits", "answered", "title")
_INCOMING = ("change", "shared lines", "its lines", "files", "subject")


def pulls_details(pulls: Pulls | None, detail: Detail) -> str:
    """The Markdown: notes in the open, the rest folded as far as `detail` has room."""
    if pulls is None:
        return ""
    notes = "\n".join(f"- {words(note)}" for note in pulls.notes[:_NOTES])
    if not detail.items:
        return "\n\n".join(filter(None, (notes, words(_counts(pulls)))))
    parts = [notes]
    if pulls.merged_within is not None:
        parts.append(_ours(pulls, detail))
    if pulls.incoming:
        parts.append(_coming(pulls, detail))
    return "\n\n".join(filter(None, parts))


def _ours(pulls: Pulls, detail: Detail) -> str:
    shown = pulls.waiting[: detail.items]
    waiting = [[name(cell[0]), *map(words, cell[1:])] for cell in map(_waiting_row, shown)]
    return folded(
        f"Our pull requests upstream: {words(_counts(pulls))}",
        words(_sentence(pulls)),
        table(("Within", *_WITHIN[1:]), [[words(cell) for cell in row] for row in _rows(pulls)]),
        table(("PR", ">Waits", "Answered", "Title"), waiting) if waiting else "",
        more(len(shown), pulls.open or 0, "open").strip(),
    )


def _coming(pulls: Pulls, detail: Detail) -> str:
    shown = pulls.incoming[: detail.items]
    rows = [[name(cell[0]), *map(words, cell[1:])] for cell in map(_incoming_row, shown)]
    count = pulls.incoming_count or len(pulls.incoming)
    return folded(
        f"Incoming upstream changes to files we carry or use: {count:,}",
        table(("Change", ">Shared lines", ">Its lines", ">Files", "Subject"), rows)
        + more(len(shown), count, "changes"),
    )


def show_pulls(pulls: Pulls | None, console: Console) -> None:
    """Print the section on a terminal; its notes come first."""
    if pulls is None:
        return
    console.print()
    console.print(Text("Our pull requests upstream", style="bold"))
    for note in pulls.notes[:_NOTES]:
        console.print(Text(f"- {visible(note)}"))
    if pulls.merged_within is not None:
        console.print(Text(f"{visible(_counts(pulls))}. {visible(_sentence(pulls))}"))
        _show(_WITHIN, _rows(pulls), console)
    if pulls.waiting:
        console.print(Text("Open, longest waiting first", style="bold"))
        _show(_WAITING, [_waiting_row(pull) for pull in pulls.waiting[:_ROWS]], console)
        _rest((pulls.open or 0) - _ROWS, "open", console)
    if pulls.incoming:
        console.print(Text("Incoming, most shared lines first", style="bold"))
        _show(_INCOMING, [_incoming_row(change) for change in pulls.incoming[:_ROWS]], console)
        _rest((pulls.incoming_count or 0) - _ROWS, "changes", console)


def _show(headers: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in headers:
        shown.add_column(header, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(visible(cell)) for cell in row))
    console.print(shown)
    console.print()


def _rest(number: int, what: str, console: Console) -> None:
    if number > 0:
        console.print(Text(f"and {number:,} more {what} (--json has them)", style="dim"))


def _counts(pulls: Pulls) -> str:
    coming = f"{plural(pulls.incoming_count, 'incoming change')} to files we carry or use"
    if pulls.open is None:
        return coming if pulls.incoming_count is not None else ""
    drafts = f" ({plural(pulls.drafts, 'draft')})" if pulls.drafts else ""
    return f"{pulls.open:,} open{drafts}, {pulls.merged:,} merged, {pulls.closed:,} closed unmerged"


def _sentence(pulls: Pulls) -> str:
    """Whose they are, and how long half of them take."""
    shown = ", ".join(f"@{login}" for login in pulls.authors[:_AUTHORS])
    others = len(pulls.authors) - _AUTHORS
    who = f"{shown}{f' and {others} more' if others > 0 else ''}"
    since = f" since {pulls.since:%Y-%m-%d}" if pulls.since else ""
    return (
        f"At {pulls.repository} by {who}{since}, counted from ready for review: "
        f"{_half(pulls.median_days_to_response, 'answered')}, "
        f"{_half(pulls.median_days_to_merge, 'merged')}."
    )


def _half(days: float | None, done: str) -> str:
    return f"not yet half are {done}" if days is None else f"half are {done} in {_days(days)}"


def _days(days: float) -> str:
    return f"{24 * days:.1f} hours" if days < 2 else f"{days:.1f} days"  # noqa: PLR2004


def _rows(pulls: Pulls) -> list[list[str]]:
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


def _waiting_row(pull: OpenPull) -> list[str]:
    waits = "draft" if pull.waiting_days is None else _days(pull.waiting_days)
    title = shortened(pull.title, _TITLE)
    return [f"#{pull.number}", waits, "yes" if pull.answered else "no", title]


def _incoming_row(change: IncomingPull) -> list[str]:
    which = f"#{change.number}" if change.number is not None else change.sha[:12]
    shared = "?" if change.overlap_lines is None else f"{change.overlap_lines:,}"
    lines = "?" if change.lines_added is None else f"+{change.lines_added} −{change.lines_removed}"
    ours = "(ours) " if change.ours else ""
    subject = shortened(f"{ours}{change.subject}", _TITLE)
    return [which, shared, lines, f"{change.files_count:,}", subject]
