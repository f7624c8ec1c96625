"""Deciding on a run: every series' outcome, then the run's."""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

from ciwm.policy.answer import headline, run_outcome
from ciwm.policy.blocks import blocks
from ciwm.policy.case import Case, declared_removed
from ciwm.policy.outcomes import outcome
from ciwm.policy.problems import problems
from ciwm.policy.tally import Tally
from ciwm.policy.trial import family_size
from ciwm.policy.watch import Watch
from ciwm.policy.words import named, ratio_interval
from ciwm.records import SEVERITY, LaunchCount, SeriesVerdict, Verdict
from ciwm.stats.launches import as_ratio

if TYPE_CHECKING:
    from typing import Any

    from ciwm.config import GateConfig
    from ciwm.policy.trial import Trial
    from ciwm.records import Run, Side

COMPARED = ("regressed", "improved", "unchanged", "inconclusive")
INTERVAL_METHOD = (
    "95 % two-sided Student interval of the 20 %-trimmed mean of the log differences of launches "
    "paired in recorded order (Yuen), widened where needed to hold the ratio of the medians; "
    "that a change is excluded is decided by the one-sided 95 % limit of the same mean, which is "
    "nearer; sampling stops when the gate has decided, and an interval read after such a stop "
    "covers somewhat less than 95 %; the false-alarm bound does not rest on it"
)


def decide(run: Run, config: GateConfig) -> Verdict:
    """The verdict on a run, by the same watch that told its bench when to stop.

    Raises UsageError for a plan the gate cannot judge.
    """
    watch = Watch(run.plan, config)
    for block in blocks(run.launches):
        watch.add(block)
    incomparable = _incomparable(run)
    cases = [
        Case(run, trial, watch.tallies.get(trial.series.workload, Tally()), incomparable)
        for trial in watch.trials
    ]
    removed = [
        case
        for case in cases
        if not case.has("head") and declared_removed(case.series, config.removed)
    ]
    verdicts = sorted((_series(case) for case in cases if case not in removed), key=_worst_first)
    found = run_outcome(verdicts, config)
    return Verdict(
        run=run.id,
        outcome=found,
        reason=headline(verdicts, found, config, planned=len(cases)),
        alpha=config.family_alpha,
        family_size=family_size(run.plan),
        interval_method=INTERVAL_METHOD,
        series=tuple(verdicts),
        problems=problems(run, watch, tuple(named(case.series) for case in removed)),
    )


def _incomparable(run: Run) -> str:
    hard = [d for d in run.base.environment.diff(run.head.environment) if d.hard]
    return "; ".join(f"{d.what} was {d.base} for base and {d.head} for head" for d in hard)


def _series(case: Case) -> SeriesVerdict:
    series, trial, found = case.series, case.trial, outcome(case)
    return SeriesVerdict(
        series=series.series,
        metric=series.metric,
        unit=series.unit,
        better=series.better,
        outcome=found.outcome,
        base_value=_middle(trial, "base"),
        head_value=_middle(trial, "head"),
        threshold_pct=series.threshold_pct,
        evidence_needed=trial.gate.evidence_needed,
        launches=LaunchCount(base=len(trial.values["base"]), head=len(trial.values["head"])),
        base_runs=found.base_runs,
        reason=found.reason,
        **_figures(trial, found.outcome),
    )


def _figures(trial: Trial, outcome: str) -> dict[str, Any]:
    """The comparison in numbers, where there is one."""
    if outcome not in COMPARED or not trial.has_logs or not trial.launches:
        return {}
    low, high = ratio_interval(trial)
    gate = trial.gate
    return {
        "ratio": as_ratio(gate.estimate, trial.series.better),
        "ci_low": low,
        "ci_high": high,
        "evidence": gate.evidence_faster if outcome == "improved" else gate.evidence,
        "launch_sd_pct": 100 * gate.launch_sd,
    }


def _middle(trial: Trial, side: Side) -> float | None:
    """The median of launches; of their logs where they have any, so that `ratio` is head/base."""
    values = trial.values[side] or trial.seen[side]
    if not values:
        return None
    if not trial.has_logs or not trial.launches:
        return median(values)
    return exp(median(log(value) for value in values))


def _worst_first(verdict: SeriesVerdict) -> tuple[int, float, str, str]:
    """By severity, then by size of effect."""
    effect = abs((verdict.ratio or 1.0) - 1)
    return (SEVERITY.index(verdict.outcome), -effect, verdict.series, verdict.metric)
