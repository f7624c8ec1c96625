"""A patch queue: how many patches fit at the target, and for each that needs a hand, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ciwm.report.detail import Detail, folded, more, name, shortened, table, words
from ciwm.report.escape import fenced
from ciwm.report.figures import plural
from ciwm.report.text_table import show_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from ciwm.records.sync import SyncReport
    from ciwm.records.sync_patches import FailedHunk, PatchQueue, QueuedPatch

SHOWN = 60
_FEW = 5
_NEWS = ("delete", "wait", "unknown")
_ORDER = ("fails", "upstream", "fuzz", "offset", "applies")


def patches_answer(report: SyncReport, quote: Callable[[str], str] = str) -> str:
    """How the queue fits at the target, in one sentence; empty where there is no queue."""
    queue = report.patches
    if queue is None:
        return ""
    counts, total = queue.counts, len(queue.patches)
    verb = "does" if counts.fails == 1 else "do"
    hunks = plural(queue.failed_hunks, "hunk")
    parts = [f"{counts.fails:,} {verb} not ({hunks})"] * bool(counts.fails)
    parts += [f"{counts.upstream:,} upstream has by now"] * bool(counts.upstream)
    going = counts.applies + counts.offset + counts.fuzz
    rest = f", {' and '.join(parts)}" if parts else ""
    told = f"Of {plural(total, 'patch', 'patches')} {going:,} apply to {quote(report.upstream.ref)}"
    return f"{told}{rest}."


def fit_words(patch: QueuedPatch) -> str:
    """How one patch fits."""
    match patch.fits:
        case "offset":
            return f"applies, {plural(patch.offset_lines, 'line')} off"
        case "fuzz":
            return f"applies with fuzz {patch.fuzz}"
        case "fails" if not patch.failed:
            return f"fails: {patch.message}"
        case "fails":
            return f"fails in {patch.hunks_failed} of {plural(patch.hunks, 'hunk')}"
        case "upstream":
            return "is upstream"
        case _:
            return "applies"


def notable(queue: PatchQueue) -> list[QueuedPatch]:
    """Patches that need a hand, can go, or whose fate is news; the failing ones first."""
    found = [
        patch
        for patch in queue.patches
        if patch.fits != "applies" or patch.advice in _NEWS or (patch.reason and patch.claims.pulls)
    ]
    return sorted(found, key=lambda patch: _ORDER.index(patch.fits))


def hunk_words(hunk: FailedHunk) -> str:
    """Which hunk, git's reason, and the upstream commits that touched its lines."""
    where = f"{hunk.path} hunk {hunk.number} (line {hunk.start_line})" if hunk.number else hunk.path
    by = "; ".join(f"{each.sha[:12]} {each.subject}" for each in hunk.culprits[:_FEW])
    left = len(hunk.culprits) - _FEW
    more_of_them = f" and {left} more" if left > 0 else ""
    reason = hunk.reason.removeprefix(f"{hunk.path}: ")
    return f"{where}: {reason}" + (f"; changed by {by}{more_of_them}" if by else "")


def patches_section(queue: PatchQueue | None, detail: Detail) -> str:
    """Markdown: a folded table of the patches worth a look, and the hunks that fail."""
    if queue is None:
        return ""
    found = notable(queue)
    shown = found[: detail.items or _FEW]
    rows = [
        (name(patch.name), words(fit_words(patch), 120), words(patch.reason or patch.message, 200))
        for patch in shown
    ]
    parts = [
        table(("Patch", "At the target", "What to do"), rows) if rows else "",
        more(len(shown), len(found), "patches").strip(),
        *(_hunks(patch, detail) for patch in shown if patch.failed and detail.items),
    ]
    if not any(parts):
        return ""
    return folded(f"Patches that need a hand or can go: {len(found):,}", *parts)


def _hunks(patch: QueuedPatch, detail: Detail) -> str:
    lines = [f"{name(patch.name)}"]
    lines += [f"- {words(hunk_words(hunk), 600)}" for hunk in patch.failed[:_FEW]]
    left = len(patch.failed) - _FEW
    if left > 0:
        lines.append(f"- and {plural(left, 'more hunk')}")
    text = next((hunk.text for hunk in patch.failed if hunk.text), "")
    if text and len(text) <= detail.hunks // 4:
        lines += ["", fenced(text)]
    return "\n".join(lines)


def show_patches(queue: PatchQueue | None, console: Console) -> None:
    """Print the patches worth a look, and the failing hunks."""
    if queue is None:
        return
    found = notable(queue)
    rows = [
        (patch.name, fit_words(patch), shortened(patch.reason or patch.message, 300))
        for patch in found[:SHOWN]
    ]
    if rows:
        title = "Patches that need a hand or can go"
        show_table(title, ("patch", "at the target", "what to do"), rows, console)
    if len(found) > SHOWN:
        left = plural(len(found) - SHOWN, "more patch", "more patches")
        console.print(Text(f"and {left} (--json has them)", style="dim"))
    failing = [(patch.name, hunk_words(hunk)) for patch in found for hunk in patch.failed[:_FEW]]
    if failing:
        show_table(
            "Hunks that fail",
            ("patch", "hunk, and who changed its lines"),
            failing[:SHOWN],
            console,
        )


def patch_facts(report: SyncReport) -> list[tuple[str, str]]:
    """Where the queue is and what it was made for; empty where there is none."""
    queue = report.patches
    if queue is None:
        return []
    counts = queue.counts
    told = (
        f"{plural(len(queue.patches), 'patch', 'patches')}: {counts.applies:,} apply, "
        f"{counts.offset:,} with an offset, {counts.fuzz:,} with fuzz, {counts.fails:,} failing, "
        f"{counts.upstream:,} upstream by now"
    )
    return [("patches", told)]
