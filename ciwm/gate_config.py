"""[gate] of the configuration: the decision rule's numbers, and what may differ by series."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from ciwm.config_section import Section, with_percent, with_seconds

BlockOn = Literal["regression", "tail", "missing", "failed"]
OnDoubt = Literal["warn", "fail"]


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern names something, literally or as a glob."""
    return name == pattern or fnmatchcase(name, pattern)


class SeriesRule(Section):
    """[[gate.series]]: what holds for the series and metrics that it matches.

    Of several rules the first that matches counts, alone. `match` is a glob for the series or its
    workload, `metric` one for the metric. `threshold_abs` is in the metric's unit, and compares
    differences instead of ratios.
    """

    match: str = "*"
    metric: str = "*"
    threshold_pct: float | None = Field(default=None, gt=0)
    threshold_abs: float | None = Field(default=None, gt=0)
    threshold_p99_pct: float | None = Field(default=None, gt=0)
    block_on: tuple[BlockOn, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, data: Any) -> Any:
        return with_percent(with_percent(data), "threshold_p99")

    @model_validator(mode="after")
    def _says_something(self) -> SeriesRule:
        if self.threshold_pct is not None and self.threshold_abs is not None:
            raise ValueError("state threshold or threshold_abs, not both")
        stated = self.model_fields_set & {"threshold_p99_pct", "block_on"}
        if self.threshold_pct is None and self.threshold_abs is None and not stated:
            raise ValueError("state a threshold, a threshold_abs, a threshold_p99 or a block_on")
        return self

    def applies_to(self, series: str, metric: str, workload: str) -> bool:
        """Whether the rule matches a metric of a series of a workload."""
        named = matches(series, self.match) or matches(workload, self.match)
        return named and matches(metric, self.metric)


class GateConfig(Section):
    """The decision rule's numbers; see `ciwm gate --help` for what each outcome means."""

    block_on: tuple[BlockOn, ...] = get_args(BlockOn)
    threshold_pct: float = Field(default=3.0, gt=0)
    threshold_p99_pct: float = Field(default=10.0, gt=0)
    gate_p99: bool = False
    prove_improvement: bool = False
    confirm: bool = False
    on_undetectable: Literal["warn", "refuse"] = "warn"
    family_alpha: float = Field(default=0.01, gt=0, lt=1)
    max_launches: int = Field(default=16, ge=4)
    on_inconclusive: OnDoubt = "warn"
    on_void: OnDoubt = "warn"
    budget_s: float = Field(default=1200, gt=0)
    removed: tuple[str, ...] = ()
    series: tuple[SeriesRule, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, data: Any) -> Any:
        return with_seconds(with_percent(with_percent(data), "threshold_p99"))

    def rule_for(self, series: str, metric: str, workload: str) -> SeriesRule | None:
        """The first rule that matches a metric of a series; None where none does."""
        rules = (rule for rule in self.series if rule.applies_to(series, metric, workload))
        return next(rules, None)
