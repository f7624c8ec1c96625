"""[gate] of the configuration: the decision rule's numbers, and what may differ by series."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from ciwm.config_section import Section, with_percent, with_seconds
from ciwm.records.labels import MARK

BlockOn = Literal[
    "regression", "tail", "missing", "failed", "build_time", "coverage", "correctness"
]
OF_THE_WHOLE = ("build_time", "coverage", "correctness")
OnDoubt = Literal["warn", "fail"]


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern names something, literally or as a glob.

    What a shard of a matrix measured (`decode@h100`) goes by its name without the label, too.
    """
    names = (name, name.rpartition(MARK)[0])
    return any(one and (one == pattern or fnmatchcase(one, pattern)) for one in names)


class SeriesRule(Section):
    """What holds for the series and metrics that it matches.

    Of several rules the first that matches counts, alone. `match` is a glob for the series or its
    workload, `metric` one for the metric. `threshold_abs` is in the metric's unit, and compares
    differences instead of ratios.
    """

    match: str = "*"
    """A glob for the series or its workload."""
    metric: str = "*"
    """A glob for the metric."""
    threshold_pct: float | None = Field(default=None, gt=0)
    """The change that counts, in percent; also threshold = "3%"."""
    threshold_abs: float | None = Field(default=None, gt=0)
    """The change that counts, in the metric's unit, instead."""
    threshold_p99_pct: float | None = Field(default=None, gt=0)
    """For the slowest iterations; also threshold_p99 = "10%"."""
    block_on: tuple[BlockOn, ...] | None = None
    """What blocks here, instead of what [gate] says."""

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
        for what in OF_THE_WHOLE:
            if what in (self.block_on or ()):
                raise ValueError(f"{what} is of no one series: state it in block_on of [gate]")
        return self

    def applies_to(self, series: str, metric: str, workload: str) -> bool:
        """Whether the rule matches a metric of a series of a workload."""
        named = matches(series, self.match) or matches(workload, self.match)
        return named and matches(metric, self.metric)


class VoidConfig(Section):
    """What makes a launch void, so that its whole block is discarded and drawn anew.

    A capped power (`sw_power_cap`) or an idle clock is how a card works, and is not among them.
    Patterns are globs over the reasons that the driver gives, in the words of `nvidia-smi -q` with
    underscores; a card's uncorrected memory errors make a launch void in any case.
    """

    throttle: tuple[str, ...] = ("*thermal*", "hw_slowdown", "*brake*")
    """Reasons for a lowered clock of an accelerator: too hot, a broken supply, a power brake."""
    clock_band_pct: float | None = Field(default=10.0, gt=0, lt=100)
    """How far the clock at work may be below the block's highest; also clock_band = "2%".

    With [bench] lock_clocks: how far it may be from that clock.
    """
    foreign_processes: bool = True
    """Whether a process on the card that is not the launch's own makes it void."""
    tolerate: tuple[str, ...] = ()
    """Names (globs) of processes that may be on the card."""
    cpu_thermal: bool = False
    """Whether CPU cores slowed for heat do."""
    max_steal_pct: float | None = Field(default=None, ge=0, le=100)
    """CPU time that other guests of the hypervisor may take, in percent."""
    max_other_cpus: float | None = Field(default=None, ge=0)
    """CPUs that processes other than the launch's may keep busy, on average."""

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, data: Any) -> Any:
        return with_percent(data, "clock_band")


class GateConfig(Section):
    """The decision rule's numbers; see `ciwm gate --help` for what each outcome means."""

    block_on: tuple[BlockOn, ...] = get_args(BlockOn)
    """What makes the check fail."""
    threshold_pct: float = Field(default=3.0, gt=0)
    """The slowdown that counts, in percent; also threshold = "3%"."""
    threshold_p99_pct: float = Field(default=10.0, gt=0)
    """That of the slowest iterations; also threshold_p99 = "10%"."""
    gate_p99: bool = False
    """Whether the slowest iterations are judged by evidence too."""
    prove_improvement: bool = False
    """Go on where head is not slower, until it is proved faster or that is excluded."""
    confirm: bool = False
    """Whether a regression blocks only once a second run confirms it."""
    on_undetectable: Literal["warn", "refuse"] = "warn"
    """What to do with a threshold that a calibration found too small for the machine."""
    family_alpha: float = Field(default=0.01, gt=0, lt=1)
    """The chance of any false alarm in a run."""
    max_launches: int = Field(default=16, ge=4, le=10_000)
    """Launches a side and workload, at most."""
    on_inconclusive: OnDoubt = "warn"
    """`fail`: end with 3 when undecided."""
    on_void: OnDoubt = "warn"
    """`fail`: end with 5 when conditions differed."""
    void: VoidConfig = VoidConfig()
    """What conditions those are."""
    budget_s: float = Field(default=1200, gt=0)
    """Seconds for all launches; also budget = "20min"."""
    build_limit_s: float | None = Field(default=None, gt=0)
    """Seconds that head's build may take; also build_limit = "30min"."""
    build_growth_pct: float | None = Field(default=None, gt=0)
    """How much longer than base's it may take, in percent; also build_growth = "25%"."""
    build_growth_floor_s: float = Field(default=10, ge=0)
    """Seconds; a build that takes less than that much longer has not grown."""
    removed: tuple[str, ...] = ()
    """Workloads or series taken out on purpose: that they are missing does not block."""
    series: tuple[SeriesRule, ...] = ()
    """What differs by series; the first rule that matches counts."""

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, data: Any) -> Any:
        for name in ("threshold", "threshold_p99", "build_growth"):
            data = with_percent(data, name)
        for name in ("budget", "build_limit", "build_growth_floor"):
            data = with_seconds(data, name)
        return data

    @property
    def times_builds(self) -> bool:
        """Whether how long a build takes is judged, so that it has to be made in the job."""
        return self.build_limit_s is not None or self.build_growth_pct is not None

    def rule_for(self, series: str, metric: str, workload: str) -> SeriesRule | None:
        """The first rule that matches a metric of a series; None where none does."""
        rules = (rule for rule in self.series if rule.applies_to(series, metric, workload))
        return next(rules, None)
