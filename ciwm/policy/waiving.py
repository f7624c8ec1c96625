"""Waivers applied: a regression that is accepted up to a ceiling, until a day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.policy.new_waivers import recovered
from ciwm.policy.scale import shown, unit_of_difference
from ciwm.policy.words import plain
from ciwm.records import Waived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import date

    from ciwm.policy.case import Case
    from ciwm.policy.outcomes import Outcome
    from ciwm.policy.trial import Trial
    from ciwm.records import SeriesVerdict
    from ciwm.waivers import Waiver

_ROUNDING = 1e-9
LONGEST_DAYS = 366  # that a waiver may hold without a remark


@dataclass(frozen=True)
class Waivers:
    """The waivers of the base revision, and the day on which they are read."""

    list: tuple[Waiver, ...]
    today: date

    def over(self, series: str, metric: str, workload: str) -> tuple[Waiver, ...]:
        """The waivers for a series, those that are in force first."""
        found = [one for one in self.list if one.covers(series, metric, workload)]
        return tuple(sorted(found, key=lambda waiver: waiver.expires < self.today))


def waived(found: Outcome, case: Case, waivers: Waivers | None) -> tuple[Outcome, Waived | None]:
    """The outcome with a waiver applied, and the waiver where it counts."""
    if waivers is None or found.outcome != "regressed":
        return found, None
    series = case.series
    trial = case.trial.tail if found.by_tail and case.trial.tail else case.trial
    over = waivers.over(series.series, series.metric, series.workload)
    waiver, why = _counting(over, lambda one: _why_not(one, trial, waivers.today))
    if waiver is None:
        return found._replace(reason=f"{found.reason}{why}"), None
    reason = f"{_accepted(waiver, case.series.unit)}: {found.reason}"
    return found._replace(outcome="waived", reason=reason), _record(waiver)


def waived_build(row: SeriesVerdict, waivers: Waivers | None) -> SeriesVerdict:
    """The row of the builds with a waiver of its growth applied; a limit is not waived."""
    if waivers is None or row.outcome != "regressed":
        return row
    over = waivers.over(row.series, row.metric, row.workload)
    waiver, why = _counting(over, lambda one: _why_build_not(one, row, waivers.today))
    if waiver is None:
        return row.model_copy(update={"reason": f"{row.reason}{why}"})
    reason = f"{_accepted(waiver, row.unit)}: {row.reason}"
    held = {"outcome": "waived", "reason": reason, "waiver": _record(waiver)}
    return row.model_copy(update=held)


def _counting(
    over: Sequence[Waiver], why_not: Callable[[Waiver], str]
) -> tuple[Waiver | None, str]:
    """The first waiver that counts; where none does, why the first does not."""
    whys = [why_not(waiver) for waiver in over]
    counting = (waiver for waiver, why in zip(over, whys, strict=True) if not why)
    return next(counting, None), f"; {whys[0]}" if whys else ""


def _accepted(waiver: Waiver, unit: str) -> str:
    return (
        f"waived up to {_ceiling(waiver, unit)} until {waiver.expires:%Y-%m-%d} by "
        f"{plain(waiver.author)} ({plain(waiver.reason)}; {plain(waiver.issue)})"
    )


def _why_build_not(waiver: Waiver, row: SeriesVerdict, today: date) -> str:
    if waiver.expires < today:
        return _expired(waiver)
    if row.value_limit is not None and (row.head_value or 0.0) > row.value_limit:
        return "no waiver reaches beyond [gate] build_limit: raise it"
    if row.base_value is None or row.head_value is None:
        return "its waiver does not count: there is nothing to compare with"
    if waiver.ceiling_abs is not None:
        covered = row.head_value - row.base_value <= waiver.ceiling_abs
    else:
        growth_pct = 100 * (row.head_value / row.base_value - 1)
        covered = growth_pct <= (waiver.ceiling_pct or 0.0) * (1 + _ROUNDING)
    return "" if covered else f"beyond its waiver's ceiling of {_ceiling(waiver, row.unit)}"


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
        return _expired(waiver)
    ceiling = waiver.ceiling_abs if trial.on_differences else waiver.ceiling_pct
    if ceiling is None:
        return "its waiver's ceiling is on another scale than its threshold, and does not count"
    if not trial.comparable:
        return "its waiver does not count: values at or below zero have no ratio"
    if abs(shown(trial.series, trial.gate.estimate)) > ceiling * (1 + _ROUNDING):
        return f"beyond its waiver's ceiling of {_ceiling(waiver, trial.series.unit)}"
    return ""


def _expired(waiver: Waiver) -> str:
    return f"its waiver expired on {waiver.expires:%Y-%m-%d} ({plain(waiver.issue)})"


def _ceiling(waiver: Waiver, unit: str) -> str:
    if waiver.ceiling_abs is not None:
        return f"{waiver.ceiling_abs:g} {unit_of_difference(unit)}".rstrip()
    return f"{waiver.ceiling_pct:g} %"


def remarks(waivers: Waivers, verdicts: Iterable[SeriesVerdict]) -> Iterator[str]:
    """Waivers that have nothing to waive any more, or never had, in words."""
    found = list(verdicts)
    for waiver in waivers.list:
        name = (
            f"the waiver of {plain(waiver.series)} {plain(waiver.metric)} ({plain(waiver.issue)})"
        )
        own = [v for v in found if waiver.covers(v.series, v.metric, v.workload)]
        if len(own) > 1:
            yield f"{name} covers {len(own)} series: one for each says what is accepted"
        if (waiver.expires - waivers.today).days > LONGEST_DAYS:
            yield f"{name} holds until {waiver.expires:%Y-%m-%d}: that is more than a year"
        if not own:
            yield f"{name} matches no series"
        elif recovered((waiver,), own):
            yield (
                f"{name} covers nothing that is slower here: once the change it is for is merged, "
                "remove it (ciwm waive --tidy)"
            )
        elif waiver.expires < waivers.today:
            yield f"{name} expired on {waiver.expires:%Y-%m-%d}"
