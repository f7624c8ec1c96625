"""A calibration for a terminal and as Markdown: what this machine can detect, and ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.policy.scale import unit_of_difference
from ciwm.report.detail import name, table, words
from ciwm.report.escape import visible
from ciwm.report.figures import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import Calibration, SeriesCalibration

HEADERS = ("series", "launches", "launch sd", "between", "threshold", "detects", "blocks from")
_NOTHING = "–"


def calibration_text(calibration: Calibration, audited: str) -> str:
    """A row a series, then what its threshold cannot do and what would help, then the audit."""
    from tabulate import tabulate  # noqa: PLC0415  only where it is used

    rows = [(f"{one.series} {one.metric}", *_cells(one)) for one in calibration.series]
    shown = tabulate(
        [[visible(cell) for cell in row] for row in rows],
        headers=HEADERS,
        tablefmt="simple",
        disable_numparse=True,
    )
    remarks = [*_remarks(calibration.series), *calibration.problems]
    return "\n".join([shown, *(visible(line) for line in remarks), audited])


def calibration_markdown(calibration: Calibration, audited: str) -> str:
    """The same as a Markdown section."""
    rows = [
        (f"{name(one.series)} {words(one.metric, 60)}", *(words(cell) for cell in _cells(one)))
        for one in calibration.series
    ]
    headers = [HEADERS[0], *(f">{header}" for header in HEADERS[1:])]
    remarks = [*_remarks(calibration.series), *calibration.problems]
    listed = "\n".join(f"- ⚠️ {words(line)}" for line in remarks)
    sha = calibration.revision.sha[:12]
    parts = [
        f"#### {sha} against itself: what this machine can detect",
        table(headers, rows),
        listed,
        words(audited),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cells(one: SeriesCalibration) -> tuple[str, ...]:
    share = _NOTHING
    if one.noise and one.between is not None and one.within is not None:
        whole = one.between**2 + one.within**2
        share = f"{one.between**2 / whole:.0%}"
    scale = 1.0 if one.threshold_abs is not None else 100.0
    return (
        f"{one.launches}+{one.launches}",
        _NOTHING if one.noise is None else _figure(one, scale * one.noise),
        share,
        _figure(one, one.threshold_abs or one.threshold_pct),
        _NOTHING if one.detectable is None else _figure(one, one.detectable),
        _NOTHING if one.blocked is None else f"+{_figure(one, one.blocked)}",
    )


def _figure(one: SeriesCalibration, value: float) -> str:
    return (
        f"{value:.2g} %"
        if one.threshold_abs is None
        else quantity(value, unit_of_difference(one.unit))
    )


def _remarks(found: Sequence[SeriesCalibration]) -> list[str]:
    lines = []
    for one in found:
        title = f"{one.series} {one.metric}"
        if one.alarm:
            lines.append(f"{title}: a false alarm: {one.reason}")
        elif one.noise is None and one.outcome != "unchanged":
            lines.append(f"{title}: not calibrated: {one.outcome}: {one.reason}")
        if one.ways_out:
            threshold = _figure(one, one.threshold_abs or one.threshold_pct)
            ways = "; or ".join(way.words for way in one.ways_out)
            lines.append(
                f"{title}: a threshold of {threshold} is not detected here. Cheapest: {ways}"
            )
    return lines
