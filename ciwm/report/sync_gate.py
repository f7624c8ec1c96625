"""Budgets, hygiene and the rating: what is over, then why the debt is what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ciwm.report.detail import words
from ciwm.report.escape import visible

if TYPE_CHECKING:
    from rich.console import Console

    from ciwm.records.sync import SyncReport

LINES_SHOWN = 12
LENGTH = 300
RATING_LENGTH = 600  # it names up to eight figures
NOT_KNOWN = ": not known"  # how a figure without a value ends


def rating_line(report: SyncReport) -> str:
    """The rating with its reasons, and what it could not take into account; may be empty."""
    rating = report.rating
    if rating is None or rating.level is None:
        return ""
    few = [sentence for sentence in rating.unknown if not sentence.endswith(NOT_KNOWN)]
    unknown = [one.removesuffix(NOT_KNOWN) for one in rating.unknown if one not in few]
    left_out = [f"left out, as not known: {', '.join(unknown)}"] if unknown else []
    return "; ".join((*rating.reasons, *few, *left_out))


def level_words(report: SyncReport) -> str:
    """The level; where contents are missing it may be higher than what could be counted says."""
    level = report.rating.level if report.rating else None
    return f"at least {level}" if report.partial and level != "high" else str(level)


def gate_lines(report: SyncReport) -> list[str]:
    """What is over or bad form, the failing things first."""
    gate = report.gate
    if gate is None:
        return []
    warnings = [finding.sentence for finding in gate.hygiene if not finding.fails]
    return [f"over: {line}" for line in gate.over] + [f"warning: {line}" for line in warnings]


def rating_section(report: SyncReport) -> str:
    """Markdown: the rating in one line; empty where there is none."""
    line = rating_line(report)
    return f"Debt: **{level_words(report)}** ({words(line, RATING_LENGTH)})" if line else ""


def gate_section(report: SyncReport) -> str:
    """Markdown: a list in the open; empty when there is nothing to say."""
    lines = gate_lines(report)
    shown = [f"- {words(line, LENGTH)}" for line in lines[:LINES_SHOWN]]
    if len(lines) > LINES_SHOWN:
        shown.append(f"- and {len(lines) - LINES_SHOWN} more")
    return "\n".join(shown)


def show_gate(report: SyncReport, console: Console) -> None:
    """Print what is over, and the rating."""
    lines = gate_lines(report)
    for line in lines[:LINES_SHOWN]:
        style = "bold red" if line.startswith("over") else "yellow"
        console.print(Text(visible(line), style=style))
    if len(lines) > LINES_SHOWN:
        console.print(Text(f"and {len(lines) - LINES_SHOWN} more (--json has them)", style="dim"))
    rated = rating_line(report)
    if rated:
        console.print(Text(visible(f"debt: {level_words(report)} ({rated})")))
    if lines or rated:
        console.print()
