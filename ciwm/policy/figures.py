"""A trial in numbers, as the record of a verdict has them."""

from __future__ import annotations

from math import exp, expm1, isfinite, log
from statistics import median
from typing import TYPE_CHECKING

from ciwm.policy.blocks import APART
from ciwm.policy.outcomes import outcome_of
from ciwm.policy.scale import as_measured, interval_as_measured
from ciwm.records import TailVerdict

if TYPE_CHECKING:
    from typing import Any

    from ciwm.policy.case import Case
    from ciwm.policy.trial import Trial
    from ciwm.records import Side

COMPARED = ("regressed", "improved", "unchanged", "inconclusive", "waived")


def figures(trial: Trial, outcome: str) -> dict[str, Any]:
    """The comparison in numbers, where there is one."""
    if outcome not in COMPARED or not trial.launches:
        return {}
    if not trial.comparable:
        return {}
    gate = trial.gate
    change, (low, high) = as_measured(trial.series, gate.estimate), interval_as_measured(trial)
    evidence = gate.evidence_faster if outcome == "improved" else gate.evidence
    if trial.on_differences:
        return {
            "difference": change,
            "difference_low": low,
            "difference_high": high,
            "evidence": evidence,
        }
    return {
        "ratio": change,
        "ci_low": low,
        "ci_high": high,
        "evidence": evidence,
        "launch_sd_pct": 100 * expm1(gate.launch_sd),
    }


def seen_figures(case: Case) -> dict[str, float]:
    """Sides measured apart, too few launches for an interval: how their medians compare."""
    trial = case.trial
    base, head = middle(trial, "base"), middle(trial, "head")
    if case.run.plan.order not in APART or trial.launches or base is None or head is None:
        return {}
    if trial.on_differences:
        return {"difference": head - base}
    return {"ratio": head / base} if base > 0 and head > 0 else {}


def tail_figures(case: Case) -> TailVerdict | None:
    """The slowest iterations in numbers, where launches have enough of them."""
    trial = case.trial
    tail = trial.tail
    if tail is None or not trial.tail_seen or not tail.launches:
        return None
    found = outcome_of(tail, case)
    low, high = interval_as_measured(tail)
    base, head = middle(tail, "base"), middle(tail, "head")
    if base is None or head is None:
        return None
    return TailVerdict(
        outcome=found.outcome,
        gated=trial.tail_gates,
        iterations=trial.fewest or 0,
        ratio=as_measured(tail.series, tail.gate.estimate),
        ci_low=low,
        ci_high=high,
        base_value=base,
        head_value=head,
        evidence=tail.gate.evidence,
        evidence_needed=tail.gate.evidence_needed,
        threshold_pct=tail.series.threshold_pct,
        reason=found.reason,
    )


def middle(trial: Trial, side: Side) -> float | None:
    """The median of launches; of their logs where they have any, so that `ratio` is head/base."""
    values = trial.values[side] or trial.seen[side]
    if not values:
        return None
    if trial.on_differences or not trial.has_ratio or not trial.launches:
        found = median(values)
        return found if isfinite(found) else None  # the mean of two huge ones is none
    return exp(median(log(value) for value in values))
