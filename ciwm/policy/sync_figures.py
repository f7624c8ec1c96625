"""The figures that budgets and the rating are held against, out of whatever a report has."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

FEWEST_SYNCS = 5  # replayed, of which a share says something

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.records.sync import SyncReport


class Figure(NamedTuple):
    """A figure with its unit; no value where it was not measured.

    It `fits` where it has a meaning for this style of downstream. `at_least` so much where contents
    are missing: no budget is kept then. `unknown` says what stands in for a value.
    """

    name: str
    unit: str
    title: str
    value: float | None
    fits: bool = True
    at_least: bool = False
    unknown: str = "not known"

    @property
    def told(self) -> str:
        """The figure in words."""
        if self.value is None:
            return f"{self.unit} {self.title}: {self.unknown}"
        unit = _ONE.get(self.unit, self.unit) if self.value == 1 else self.unit
        lower = "for want of contents, at least " if self.at_least else ""
        return f"{lower}{plain(self.value)} {unit} {self.title}"


_NAMES = {  # unit, and what follows it: "22 files in conflict"
    "intrusive_lines": ("lines", "changed in upstream's files"),
    "conflicts": ("files", "in conflict"),
    "conflict_pct": ("%", "of past syncs with a conflict"),
    "behind_days": ("days", "behind upstream"),
    "behind_commits": ("commits", "behind upstream"),
    "unmerged_pct": ("%", "of our upstream pull requests not merged in 30 days"),
    "hard_drift": ("hard findings", "of drift"),
    "failing_patches": ("patches", "failing to apply"),
}
_ONE = {
    "lines": "line",
    "files": "file",
    "days": "day",
    "commits": "commit",
    "hard findings": "hard finding",
    "patches": "patch",
}
_FROM_CONTENTS = ("intrusive_lines", "conflicts", "hard_drift", "failing_patches")
_ONLY_FOR = {
    "conflicts": ("fork",),
    "conflict_pct": ("fork",),
    "intrusive_lines": ("fork", "patches"),
    "hard_drift": ("plugin",),
    "failing_patches": ("patches",),
}


def figures(report: SyncReport) -> Mapping[str, Figure]:
    """Every figure by name."""
    merged = report.conflicts
    values: dict[str, float | None] = {
        "intrusive_lines": _intrusive(report),
        "conflicts": merged.count if merged else None,
        "conflict_pct": _conflict_pct(report),
        "behind_days": max(0.0, report.behind.days),
        "behind_commits": report.behind.commits,
        "unmerged_pct": _unmerged_pct(report),
        "hard_drift": _hard_drift(report),
        "failing_patches": _failing(report),
    }
    style = report.shape.style
    return {
        name: Figure(
            name,
            *_NAMES[name],
            value,
            style in _ONLY_FOR.get(name, (style,)),
            report.lacks_contents and name in _FROM_CONTENTS,
            _too_few(report) if name == "conflict_pct" and report.syncs else "not known",
        )
        for name, value in values.items()
    }


def _intrusive(report: SyncReport) -> float | None:
    carried = report.carried
    if carried is None or carried.intrusive is None or carried.deleted is None:
        return None
    inside = carried.intrusive
    return inside.lines_added + inside.lines_removed + carried.deleted.lines_removed


def _failing(report: SyncReport) -> float | None:
    return report.patches.counts.fails if report.patches else None


def _conflict_pct(report: SyncReport) -> float | None:
    """Of the past syncs that were replayed, where they are enough."""
    if len(report.syncs) < FEWEST_SYNCS:
        return None
    conflicts = len([sync for sync in report.syncs if sync.kind == "conflict"])
    return 100 * conflicts / len(report.syncs)


def _too_few(report: SyncReport) -> str:
    return f"not counted, {len(report.syncs)} replayed and it takes {FEWEST_SYNCS}"


def _unmerged_pct(report: SyncReport) -> float | None:
    """What is left after 30 days, with open pull requests censored."""
    within = report.pulls.merged_within if report.pulls else None
    share = within.d30.value if within else None
    return None if share is None else 100 * (1 - share)


def _hard_drift(report: SyncReport) -> float | None:
    if report.surface is None:
        return None
    return len([finding for finding in report.drift if finding.severity == "hard"])


def plain(value: float) -> str:
    """A number without needless decimals."""
    return f"{value:,.1f}".removesuffix(".0")
