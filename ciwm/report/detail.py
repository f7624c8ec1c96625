"""How much a report shows: the rungs of the ladder that keeps a comment under GitHub's limit."""

from __future__ import annotations

from dataclasses import dataclass

from ciwm.report.escape import code, inline

NAME_LIMIT = 120
SENTENCE_LIMIT = 400


@dataclass(frozen=True)
class Detail:
    """One rung: rows of a table, entries of a folded list, conflict hunks, lines of a log."""

    rows: int
    items: int
    hunks: int
    log_lines: int
    dropped: str = ""  # what the reader misses on this rung, in words


FULL = Detail(rows=2000, items=2000, hunks=500, log_lines=200)
RUNGS = (
    Detail(rows=200, items=200, hunks=40, log_lines=40),
    Detail(rows=200, items=200, hunks=0, log_lines=40, dropped="conflict hunks"),
    Detail(rows=200, items=0, hunks=0, log_lines=40, dropped="conflict hunks and folded lists"),
    Detail(rows=15, items=0, hunks=0, log_lines=15, dropped="all but the worst rows"),
)


def clipped(text: str, limit: int) -> str:
    """Text cut to so many characters, with an ellipsis where it was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def name(text: str) -> str:
    """A repository's name for something (path, ref, series) as a code span of bounded length."""
    return code(clipped(text, NAME_LIMIT))


def words(text: str) -> str:
    """A sentence from outside, harmless in Markdown and of bounded length."""
    return inline(clipped(text, SENTENCE_LIMIT))


def folded(summary: str, body: str) -> str:
    """A closed <details> block; `summary` is Markdown already made safe."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def more(shown: int, total: int, noun: str) -> str:
    """What was left out, as a line of its own; empty when nothing was."""
    return f"\n\n… and {total - shown:,} more {noun}" if total > shown else ""
