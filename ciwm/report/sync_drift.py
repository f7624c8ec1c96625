"""Drift of a plugin: what changed under its feet, the most important first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text

from ciwm.report.detail import Detail, folded, more, name, shortened, table, words
from ciwm.report.escape import code, visible
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_drift import Finding, PinLane

SHOWN = 40  # findings on a terminal
_EXAMPLES = 3
_SPOTS = 12
_FEW = 5  # findings in the open where there is no room for a list


def drift_answer(report: SyncReport, quote: Callable[[str], str] = str) -> str:
    """What the next pin would cost, in one sentence."""
    target = quote(report.upstream.ref)
    hard, soft = _counts(report.drift)
    look = (
        f"{plural(soft, 'more change')} to look at"
        if hard
        else f"{plural(soft, 'change')} to look at"
    )
    if hard:
        return f"Moving to {target} breaks {plural(hard, 'thing')} the plugin uses ({look})."
    if soft:
        return f"Moving to {target} breaks nothing that reading the sources shows; {look}."
    read = ", as far as the sources are here" if report.partial else ""
    return f"Nothing the plugin uses changed between its pin and {target}{read}."


def drift_facts(report: SyncReport, quote: Callable[[str], str] = str) -> list[tuple[str, str]]:
    """The figures by name."""
    lanes = [(_lane_name(lane), _lane(lane, quote)) for lane in report.lanes]
    surface = report.surface
    used = "not measured"
    if surface is not None:
        used = (
            f"{plural(surface.symbols, 'symbol')} in {plural(surface.files, 'file')}: "
            f"{plural(surface.calls, 'call')}, {plural(surface.overrides, 'override')} in "
            f"{plural(surface.subclasses, 'subclass')}, "
            f"{plural(surface.patches, 'patch', 'patches')}"
        )
    hard, soft = _counts(report.drift)
    return [
        ("upstream", f"{quote(report.upstream.ref)} at {quote(report.upstream.sha[:12])}"),
        ("plugin", f"{quote(report.downstream.ref)} at {quote(report.downstream.sha[:12])}"),
        *lanes,
        ("uses of upstream", used),
        ("drift", f"{hard} hard, {soft} soft"),
    ]


def drift_style(report: SyncReport) -> str:
    """The colour of the answer on a terminal."""
    hard, soft = _counts(report.drift)
    return "bold red" if hard else "bold yellow" if soft else "bold green"


def drift_details(report: SyncReport, detail: Detail) -> str:
    """The findings as a table, the rest and what could not be seen folded; for Markdown."""
    hard = [finding for finding in report.drift if finding.severity == "hard"]
    soft = [finding for finding in report.drift if finding.severity == "soft"]
    lanes = len(report.lanes) > 1
    parts = []
    if hard:
        shown = hard[: detail.items or _FEW]
        parts.append(_table(shown, lanes=lanes) + more(len(shown), len(hard), "hard findings"))
    if soft and detail.items:
        shown = soft[: detail.items]
        listed = _table(shown, lanes=lanes) + more(len(shown), len(soft), "findings")
        parts.append(folded(f"To look at: {plural(len(soft), 'change')}", listed))
    if report.unseen and detail.items:
        parts.append(_unseen(report))
    return "\n\n".join(parts)


def _table(findings: Sequence[Finding], *, lanes: bool) -> str:
    headers = ("Change", "Upstream", "Where we use it", "Mend", *(("From",) if lanes else ()))
    return table(headers, [_row(finding, lanes=lanes) for finding in findings])


def _row(finding: Finding, *, lanes: bool) -> tuple[str, ...]:
    told = f"{finding.kind}: {name(finding.symbol)}"
    if finding.detail:
        told += f" · {words(finding.detail, 200)}"
    rest = f" and {finding.use_count - 1} more" if finding.use_count > 1 else ""
    guard = f" · {words(finding.guard, 100)}" if finding.guard else ""
    cells = (
        told,
        f"{name(finding.upstream)} · {_commit(finding)}",
        f"{name(finding.use)}{rest}{guard}",
        words(finding.mend, 200),
    )
    return (*cells, words(", ".join(finding.lanes), 80)) if lanes else cells


def _commit(finding: Finding) -> str:
    if finding.commit is None:
        return "commit not known"
    pull = f" ({words(f'#{finding.commit.pr}')})" if finding.commit.pr else ""
    others = len(finding.other_commits)
    return f"{code(finding.commit.sha[:12])}{pull}" + (f" and {others} more" if others else "")


def _unseen(report: SyncReport) -> str:
    rows = [
        (
            words(spot.what, 120),
            f"{spot.count:,}",
            ", ".join(name(each) for each in spot.examples[:_EXAMPLES]),
        )
        for spot in report.unseen[:_SPOTS]
    ]
    listed = table(("What", ">Times", "For example"), rows)
    return folded("What reading the sources cannot see", listed)


def show_drift(report: SyncReport, console: Console) -> None:
    """Print the findings and what could not be seen."""
    for finding in report.drift[:SHOWN]:
        _show(finding, console, lanes=len(report.lanes) > 1)
    left = len(report.drift) - SHOWN
    if left > 0:
        console.print(Text(f"and {left} more findings (--json has them)", style="dim"))
    if report.unseen:
        console.print()
        console.print(Text("What reading the sources cannot see", style="bold"))
        for spot in report.unseen[:_SPOTS]:
            example = f" ({spot.examples[0]})" if spot.examples else ""
            _line(console, f"{spot.count:>6}", f"{spot.what}{example}")


def _show(finding: Finding, console: Console, *, lanes: bool) -> None:
    style = "bold red" if finding.severity == "hard" else "bold yellow"
    console.print()
    head = f"{finding.severity}: {finding.kind}: {finding.symbol}"
    console.print(Text(visible(head), style=style), overflow="fold")
    rest = f" and {finding.use_count - 1} more" if finding.use_count > 1 else ""
    guard = f", {finding.guard}" if finding.guard else ""
    _line(console, "use", f"{finding.use}{rest}{guard}")
    _line(console, "upstream", f"{finding.upstream}, {_plain_commit(finding)}")
    if finding.detail:
        _line(console, "why", shortened(finding.detail, 300))
    _line(console, "mend", shortened(finding.mend, 400))
    if lanes:
        _line(console, "from", ", ".join(finding.lanes))


def _plain_commit(finding: Finding) -> str:
    if finding.commit is None:
        return f"commit not known ({finding.commit_unknown or 'not looked for'})"
    others = f" and {len(finding.other_commits)} more" if finding.other_commits else ""
    return f"{finding.commit.sha[:12]} {shortened(finding.commit.subject, 120)}{others}"


def _line(console: Console, label: str, text: str) -> None:
    from rich.table import Table  # noqa: PLC0415  only the terminal needs it

    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", no_wrap=True, min_width=10)
    grid.add_column(overflow="fold")
    grid.add_row(f"  {label}", Text(visible(text)))
    console.print(grid)


def _counts(findings: Sequence[Finding]) -> tuple[int, int]:
    hard = sum(finding.severity == "hard" for finding in findings)
    return hard, len(findings) - hard


def _lane_name(lane: PinLane) -> str:
    return "pin" if lane.name == "pin" else f"pin, {visible(lane.name)}"


def _short(ref: str) -> str:
    """A commit's id cut as git does, another name only when it is long."""
    return ref[:12] if re.fullmatch(r"[0-9a-f]{40,64}", ref) else shortened(ref, 60)


def _lane(lane: PinLane, quote: Callable[[str], str]) -> str:
    behind = "" if lane.commits is None else f"{plural(lane.commits, 'commit')}, "
    return (
        f"{quote(_short(lane.ref))}, {behind}{lane.days:.1f} days behind: "
        f"{lane.hard} hard, {lane.soft} soft"
    )
