"""Waivers applied: a regression that is accepted up to a ceiling, until a day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.policy.new_waivers import recovered
from ciwm.policy.scale import shown
from ciwm.policy.words import plain
from ciwm.records import Waived

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from ciwm.policy.case import Case
    from ciwm.policy.outcomes import Outcome
    from ciwm.policy.trial import Trial
    from ciwm.records import SeriesVerdict
    from ciwm.waivers import Waiver

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Waivers:
    """The waivers of the base revision, and the day on which they are read."""

    list: tuple[Waiver, ...]
    today: date

    def over(self, case: Case) -> Waiver | None:
        """The first waiver for a series that is in force; else the first that no longer is."""
        series = case.series
        found = [w for w in self.list if w.covers(series.series, series.metric, series.workload)]
        in_force = (waiver for waiver in found if waiver.expires >= self.today)
        return next(in_force, found[0] if found else None)


def waived(found: Outcome, case: Case, waivers: Waivers | None) -> tuple[Outcome, Waived | None]:
    """The outcome with a waiver applied, and the waiver where it counts."""
    waiver = None if waivers is None or found.outcome != "regressed" else waivers.over(case)
    if waiver is None or waivers is None:
        return found, None
    trial = case.trial.tail if found.by_tail and case.trial.tail else case.trial
    why = _why_not(waiver, trial, waivers.today)
    if why:
        return found._replace(reason=f"{found.reason}; {why}"), None
    reason = (
        f"waived up to {_ceiling(waiver, case.trial)} until {waiver.expires:%Y-%m-%d} by "
        f"{plain(waiver.author)} ({plain(waiver.reason)}; {plain(waiver.issue)}): {found.reason}"
    )
    return found._replace(outcome="waived", reason=reason), _record(waiver)


def _record(waiver: Waiver) -> Waived:
    return Waived(
        ceiling_pct=waiver.ceiling_pct,
        ceiling_abs=waiver.ceiling_abs,
        reason=waiver.reason,
        author=waiver.author,
        issue=waiver.issue,
        expires=waiver.expires,
    )


def _why_not(waiver: Waiver, trial: Trial, today: date) -> str:
    """Why a waiver does not cover a regression; empty where it does."""
    if waiver.expires < today:
        return f"its waiver expired on {waiver.expires:%Y-%m-%d} ({plain(waiver.issue)})"
    ceiling = waiver.ceiling_abs if trial.on_differences else waiver.ceiling_pct
    if ceiling is None:
        return "its waiver's ceiling is on another scale than its threshold, and does not count"
    if not trial.comparable:
        return "its waiver does not count: values at or below zero have no ratio"
    if abs(shown(trial.series, trial.gate.estimate)) > ceiling * (1 + _ROUNDING):
        return f"beyond its waiver's ceiling of {_ceiling(waiver, trial)}"
    return ""


def _ceiling(waiver: Waiver, trial: Trial) -> str:
    if waiver.ceiling_abs is not None:
        return f"{waiver.ceiling_abs:g} {trial.series.unit}".rstrip()
    return f"{waiver.ceiling_pct:g} %"


def remarks(waivers: Waivers, verdicts: Iterable[SeriesVerdict]) -> Iterator[str]:
    """Waivers that have nothing to waive any more, or never had, in words."""
    found = list(verdicts)
    for waiver in waivers.list:
        name = (
            f"the waiver of {plain(waiver.series)} {plain(waiver.metric)} ({plain(waiver.issue)})"
        )
        own = [v for v in found if waiver.covers(v.series, v.metric, v.workload)]
        if not own:
            yield f"{name} matches no series"
        elif recovered((waiver,), own):
            yield (
                f"{name} covers nothing that is slower here: once the change it is for is merged, "
                "remove it (ciwm waive --tidy)"
            )
        elif waiver.expires < waivers.today:
            yield f"{name} expired on {waiver.expires:%Y-%m-%d}"
