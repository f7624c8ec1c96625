"""The parts of the report for a bot: lists of what there is to adapt, with the evidence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.report.detail import Detail, more, name, shortened, shortened_lines
from ciwm.report.escape import code, fenced
from ciwm.report.figures import plural
from ciwm.report.sync_patches import fit_words
from ciwm.report.sync_states import MEANING, droppable
from ciwm.report.sync_words import scanned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ciwm.records.sync import CarriedCommit, ConflictedFile, Hit, SyncReport
    from ciwm.records.sync_drift import Finding
    from ciwm.records.sync_patches import FailedHunk, QueuedPatch

LONGEST_HUNK = 20_000
LONGEST_TEXT = 600
CULPRITS = 10
NOTES = 100


def quoted(text: str) -> str:
    """A longer text from the repositories as a code span of bounded length."""
    return code(shortened(text, LONGEST_TEXT))


def part(title: str, lines: Iterable[str]) -> str:
    """A section; empty without a line, and never more than one empty line in a row."""
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return f"## {title}\n\n{body}" if body else ""


def conflicts_part(report: SyncReport, detail: Detail) -> str:
    """Every conflicting file with its kind and its hunks, as far as there is room."""
    conflicts = report.conflicts
    if conflicts is None or not conflicts.files:
        return ""
    lines: list[str] = []
    room = detail.hunks
    for file in conflicts.files[: detail.items]:
        blocks = [(hunk.start_line, _block(hunk.text)) for hunk in file.hunks]
        shown = _fitting([block for _, block in blocks], room)
        room -= sum(len(block) for _, block in blocks[:shown])
        lines += [f"### {name(file.path)}", "", _kind(file, shown), ""]
        for start_line, block in blocks[:shown]:
            lines += [f"from line {start_line} of the merged file:", "", block, ""]
    left = more(min(detail.items, len(conflicts.files)), conflicts.count, "files").strip()
    title = f"Conflicts: {plural(conflicts.count, 'file')}, {plural(conflicts.hunks, 'hunk')}"
    return part(title, [*lines, left])


def _block(text: str) -> str:
    return fenced(shortened_lines(text, LONGEST_HUNK))


def _fitting(blocks: Sequence[str], room: int) -> int:
    """How many of the blocks, from the first on, there is room for."""
    for number, block in enumerate(blocks):
        room -= len(block)
        if room < 0:
            return number
    return len(blocks)


def _kind(file: ConflictedFile, shown: int) -> str:
    left = file.hunk_count - shown
    without = f", {left:,} of them left out here" if left > 0 else ""
    return f"{name(file.kind)}: {plural(file.hunk_count, 'hunk')}{without}"


def culprits_part(report: SyncReport, detail: Detail) -> str:
    """The upstream commits that bring the conflicts."""
    conflicts = report.conflicts
    if conflicts is None or not conflicts.culprits:
        return ""
    lines = [
        f"- {name(each.sha)} {f'PR #{each.pr} ' if each.pr else ''}{quoted(each.subject)}: "
        + ", ".join(name(path) for path in each.files[:CULPRITS])
        + (f"; {name(each.url)}" if each.url else "")
        + "".join(map(_hit, each.hits or ()))
        + ("; whose commits it hits was not looked up" if each.hits is None else "")
        for each in conflicts.culprits[: detail.items]
    ]
    return part(
        "Upstream commits that bring the conflicts", [*scanned(conflicts, name), "", *lines]
    )


def _hit(hit: Hit) -> str:
    files = ", ".join(name(path) for path in hit.files[:CULPRITS])
    return f"; hits our {name(hit.sha)} {quoted(hit.subject)} by {name(hit.author)} in {files}"


def patches_part(report: SyncReport, detail: Detail) -> str:
    """Every patch that does not just apply, the failing ones with their hunks."""
    queue = report.patches
    if queue is None:
        return ""
    lines = [f"Pinned at {name(queue.pin)} ({name(queue.pin_source)}), order: {queue.order}.", ""]
    room = detail.hunks
    worth = [patch for patch in queue.patches if patch.fits != "applies" or patch.reason]
    for patch in sorted(worth, key=lambda each: each.fits != "fails")[: detail.items]:
        lines += _patch(patch)
        for hunk in patch.failed:
            block = _block(hunk.text) if hunk.text else ""
            room -= len(block)
            lines += [_failed(hunk), "", *([block, ""] if block and room >= 0 else [])]
    left = more(min(detail.items, len(worth)), len(worth), "patches").strip()
    return part("Patches", [*lines, left])


def _patch(patch: QueuedPatch) -> list[str]:
    told = f"{fit_words(patch)}; at its pin: {patch.at_pin or 'not known'}"
    after = ", ".join(name(each) for each in patch.after_failed[:CULPRITS])
    return [
        f"### {name(patch.name)}",
        "",
        quoted(patch.subject) if patch.subject else "",
        f"{told}. {quoted(patch.reason or patch.message) if patch.reason or patch.message else ''}",
        f"Earlier failing patches touch the same files: {after}" if after else "",
        "",
    ]


def _failed(hunk: FailedHunk) -> str:
    by = ", ".join(f"{name(each.sha)} {quoted(each.subject)}" for each in hunk.culprits[:CULPRITS])
    where = f"hunk {hunk.number} at line {hunk.start_line}" if hunk.number else "the whole file"
    changed = f"; changed upstream by {by}" if by else ""
    return f"- {name(hunk.path)}, {where}: {quoted(hunk.reason)}{changed}"


def drift_part(report: SyncReport, detail: Detail) -> str:
    """Findings of API drift, the hard ones first, each with both places and the mend."""
    findings = report.drift
    ordered = sorted(findings, key=lambda each: each.severity != "hard")
    lines = [
        f"- {each.severity}, {each.kind}: {name(each.symbol)}; used at {name(each.use)}, upstream "
        f"{name(each.upstream)}" + _ending(each)
        for each in ordered[: detail.items]
    ]
    left = more(len(lines), len(ordered), "findings").strip()
    return part(f"API drift: {len(ordered):,} findings", [*lines, left]) if ordered else ""


def _ending(finding: Finding) -> str:
    commit = (
        f"; by {name(finding.commit.sha)} {quoted(finding.commit.subject)}"
        if finding.commit
        else ""
    )
    detail = f"; {quoted(finding.detail)}" if finding.detail else ""
    mend = f"; mend: {quoted(finding.mend)}" if finding.mend else ""
    return detail + commit + mend


def carried_part(report: SyncReport, detail: Detail) -> str:
    """Carried commits: those that may go first, then the others."""
    carried = report.carried
    if carried is None:
        return ""
    going = droppable(carried)
    named = {commit.sha for commit in going}
    rest = [commit for commit in carried.list if commit.sha not in named]
    lines = [_commit(commit) for commit in [*going, *rest][: detail.items]]
    total = carried.commits + len(carried.upstreamed)
    left = more(len(lines), total, "commits").strip() if lines else ""
    told = [MEANING, ""] if carried.commits_by_state and lines else []
    return part("Carried commits, those that may be dropped first", [*told, *lines, left])


def _commit(commit: CarriedCommit) -> str:
    state = (commit.state or "").replace("_", " ")
    told = f" ({state}: {quoted(commit.evidence)})" if state else ""
    return f"- {name(commit.sha)} {quoted(commit.subject)}{told}"


def overlap_part(report: SyncReport, detail: Detail) -> str:
    """Files that both sides changed."""
    overlap = report.overlap
    if overlap is None or not overlap.paths:
        return ""
    shown = overlap.paths[: detail.items]
    left = more(len(shown), overlap.files, "files").strip()
    title = f"Files changed on both sides: {overlap.files:,}"
    return part(title, [*(f"- {name(path)}" for path in shown), left])


def unseen_part(report: SyncReport) -> str:
    """What reading a plugin's and upstream's sources cannot tell."""
    lines = [
        f"- {quoted(spot.what)}: {spot.count:,}, as in {', '.join(map(name, spot.examples))}"
        for spot in report.unseen
    ]
    return part("What reading the sources did not show", lines)


def notes_part(report: SyncReport, detail: Detail) -> str:
    """What the figures leave out."""
    shown = min(detail.items, NOTES)
    lines = [f"- {quoted(note)}" for note in report.notes[:shown]]
    lines += [f"- missing object {name(each)}" for each in report.missing_objects[:shown]]
    return part("Notes", lines)
