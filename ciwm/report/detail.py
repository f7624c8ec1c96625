"""How much a report shows: the rungs of the ladder that keeps a comment under GitHub's limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.report.escape import code, inline
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAME_LIMIT = 160
SENTENCE_LIMIT = 400
METHOD_LIMIT = 800  # of how an interval was computed


@dataclass(frozen=True)
class Detail:
    """One rung of the ladder."""

    rows: int  # of an open table
    items: int  # of a folded list
    hunks: int  # characters of conflict hunks
    log_lines: int
    dropped: str = ""  # what the reader misses, in words


FULL = Detail(rows=50, items=2000, hunks=400_000, log_lines=200)
RUNGS = (
    Detail(rows=12, items=200, hunks=20_000, log_lines=40),
    Detail(rows=12, items=200, hunks=0, log_lines=40, dropped="conflict hunks"),
    Detail(rows=12, items=0, hunks=0, log_lines=40, dropped="conflict hunks and folded lists"),
    Detail(rows=5, items=0, hunks=0, log_lines=10, dropped="all but the worst rows"),
)


def longest(
    render: Callable[[Detail], str], rungs: Sequence[Detail], limit_bytes: int
) -> str | None:
    """The text of the first rung that takes at most so many bytes of UTF-8; None when none does."""
    for detail in rungs:
        text = render(detail)
        if len(text.encode()) <= limit_bytes:
            return text
    return None


def clipped(text: str, limit: int) -> str:
    """Text cut to so many characters, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def shortened(text: str, limit: int) -> str:
    """Text cut in its middle to so many characters: both ends of a path matter."""
    if len(text) <= limit:
        return text
    half = max(0, limit - 1) // 2
    return f"{text[: limit - 1 - half]}…{text[-half:]}"


def shortened_lines(text: str, limit: int) -> str:
    """The first lines of a text that fit into so many characters, and how many do not."""
    if len(text) <= limit:
        return text
    kept = text[:limit].rpartition("\n")[0] or text[:limit]
    left_out = text[len(kept) :].strip("\n").count("\n") + 1
    return f"{kept}\n[... {plural(left_out, 'line')} left out ...]"


def name(text: str) -> str:
    """A repository's name for something (path, ref, series) as a code span of bounded length."""
    return _fitting(lambda kept: code(shortened(text, kept)), NAME_LIMIT)


def words(text: str, limit: int = SENTENCE_LIMIT) -> str:
    """Words from outside, harmless in Markdown and of bounded length."""
    return _fitting(lambda kept: inline(clipped(text, kept)), limit)


def _fitting(escape: Callable[[int], str], limit: int) -> str:
    """Escaped text of at most `limit` characters; an escape can be six times what it stands for."""
    kept = limit
    while len(escaped := escape(kept)) > limit:
        kept = min(kept - 1, kept * limit // len(escaped))
    return escaped


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of cells already made safe; columns headed `>...` are aligned right."""
    marks = ["--:" if header.startswith(">") else ":--" for header in headers]
    lines = [[header.removeprefix(">") for header in headers], marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def folded(summary: str, *parts: str) -> str:
    """A closed <details> block of the parts that are not empty.

    `summary` is safe text without Markdown: GitHub reads none there.
    """
    body = "\n\n".join(part for part in parts if part)
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def more(shown: int, total: int, noun: str) -> str:
    """What was left out, as a line of its own; empty when nothing was."""
    return f"\n\n… and {total - shown:,} more {noun}" if total > shown else ""
