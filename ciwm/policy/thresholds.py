"""Which threshold holds for a series: the first rule that matches, else what its metric declares.

The policy is the judge's (base's), not the plan's: a change may not loosen its own gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.config import Config, GateConfig
    from ciwm.records import Plan, Series


def ruled(series: Series, gate: GateConfig) -> Series:
    """The series with the threshold that a rule of [[gate.series]] gives it."""
    rule = gate.rule_for(series.series, series.metric, series.workload)
    if rule is None:
        return series
    if rule.threshold_abs is not None:
        return replaced(series, series.threshold_pct, rule.threshold_abs)
    if rule.threshold_pct is not None:
        return replaced(series, rule.threshold_pct, None)
    return series


def tail_threshold_pct(series: Series, gate: GateConfig) -> float:
    """By how much the slowest iterations may get worse, in percent."""
    rule = gate.rule_for(series.series, series.metric, series.workload)
    stated = None if rule is None else rule.threshold_p99_pct
    return stated or gate.threshold_p99_pct


def by_policy_of(plan: Plan, config: Config) -> Plan:
    """The plan with the thresholds that another configuration's metrics have.

    What that configuration does not declare keeps the threshold it was planned with.
    """
    declared = {
        (workload.id, name): metric
        for workload in config.workload
        for name, metric in workload.declared_metrics.items()
    }
    family = tuple(
        replaced(series, metric.threshold_pct or config.gate.threshold_pct, metric.threshold_abs)
        if (metric := declared.get((series.workload, series.metric)))
        else series
        for series in plan.family
    )
    return plan.model_copy(update={"family": family})


def unused_rules(plan: Plan, gate: GateConfig) -> Iterator[str]:
    """The rules that apply to no series, in words: a misspelt one must not go unnoticed."""
    families = (*plan.family, *plan.gone)
    for rule in gate.series:
        if not any(rule.applies_to(one.series, one.metric, one.workload) for one in families):
            pair = f"match = {rule.match!r}, metric = {rule.metric!r}"
            yield f"[[gate.series]] {pair} matches no series"


def replaced(series: Series, pct: float, absolute: float | None) -> Series:
    """The series with another threshold."""
    if (series.threshold_pct, series.threshold_abs) == (pct, absolute):
        return series
    # a first guess of the noise is on the scale of the threshold it was made for
    kept = (series.threshold_abs is None) == (absolute is None)
    known = {} if kept else {"noise": None, "detectable": None}
    update = {"threshold_pct": pct, "threshold_abs": absolute, **known}
    return series.model_copy(update=update)
