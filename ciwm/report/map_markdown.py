"""The map's section in a pull request: only what changed, and the totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.detail import RUNGS, Detail, folded, name, table, words
from ciwm.report.figures import plural
from ciwm.report.map_device import device_markdown
from ciwm.report.map_words import (
    changed_totals,
    intensity_words,
    pattern_words,
    sentence,
    step_words,
    support_words,
    totals_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.records import WorkloadMap
    from ciwm.records.opmap_diff import MapChange, MapDiff, MapTotals

UNCHANGED = "Nothing changed in what the workloads need or the device has."
OPEN = 8  # changes in the open; the others are folded


def diff_section(diff: MapDiff, detail: Detail = RUNGS[0]) -> str:
    """Losses and what is to be written in the open, all else folded, the totals last."""
    lost = [change for change in diff.changes if change.lost]
    others = [change for change in diff.changes if not change.lost]
    queue = [change for change in others if change.kind == "queue"]
    others = [change for change in others if change.kind != "queue"]
    shown = [_line(change) for change in (*lost[:OPEN], *queue[:OPEN])]
    rest = [_line(change) for change in (*lost[OPEN:], *queue[OPEN:], *others)]
    parts = [
        "#### Workload map",
        f"**Void**: {words(diff.void)}." if diff.void else "",
        _first(diff, lost),
        "\n".join(shown),
        _folded(rest, "more change" if shown else "change", detail),
        _warned(diff.warnings),
        f"Totals: {words(changed_totals(diff), 800)}.",
    ]
    return "\n\n".join(part for part in parts if part)


def map_section(found: WorkloadMap, totals: MapTotals, diff: MapDiff | None = None) -> str:
    """A map by itself, where there is nothing to compare it with; else what changed."""
    if diff is not None:
        return diff_section(diff) + "\n"
    rows = [
        [
            name(one.id),
            words(one.phase or ""),
            words(intensity_words(one.intensity)),
            words(pattern_words(one.communication), 300),
        ]
        for one in found.workloads
    ]
    queue = [
        f"{entry.order}. {plural(len(entry.kernels), 'kernel')}: {words(step_words(entry))}"
        for entry in found.queue
    ]
    problems = [f"- {name(one.workload)} {words(one.detail)}" for one in found.problems]
    parts = [
        "#### Workload map",
        table(["workload", "phase", "intensity", "communication"], rows) if rows else "",
        "\n".join(f"- {words(one)}" for one in totals_lines(totals, found.provenance.target)),
        _supported(found),
        "\n".join(["Kernels to write, in order:", "", *queue]) if queue else "",
        device_markdown(found),
        "\n".join(["Not observed:", "", *problems]) if problems else "",
        _warned(found.warnings),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _warned(warnings: tuple[str, ...]) -> str:
    return "\n".join(f"- ⚠️ {words(each)}" for each in warnings[:OPEN])


def _supported(found: WorkloadMap) -> str:
    if not found.supports:
        return ""
    return (
        f"On {words(found.provenance.target or '')}: {words(support_words(found.supports), 400)}."
    )


def _first(diff: MapDiff, lost: list[MapChange]) -> str:
    if not diff.changes:
        return "" if diff.void else UNCHANGED
    if not lost:
        return f"{plural(len(diff.changes), 'change')}, no loss."
    fallbacks = plural(sum(change.kind == "fallback new" for change in lost), "new CPU fallback")
    if all(change.kind == "fallback new" for change in lost):
        told = fallbacks
    elif any(change.kind == "fallback new" for change in lost):
        told = f"{plural(len(lost), 'loss')}, of them {fallbacks}"
    else:
        told = plural(len(lost), "loss")
    told += f", since {words(diff.since, 60)}" if diff.since else ""
    return f"**{told}**" + (" — the merge is blocked by it." if diff.blocks else ".")


def _line(change: MapChange) -> str:
    mark = "❌" if change.blocks else "⚠️" if change.lost else "·"
    return f"- {mark} {words(sentence(change))}"


def _folded(lines: Iterable[str], what: str, detail: Detail) -> str:
    listed = list(lines)
    if not listed or not detail.items:
        return ""
    shown = listed[: detail.items]
    left = f"\n- … and {len(listed) - len(shown)} more" if len(listed) > len(shown) else ""
    return folded(plural(len(listed), what), "\n".join(shown) + left)
