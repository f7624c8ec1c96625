"""Verdict: what the gate decided, series by series, and why."""

from __future__ import annotations

from datetime import date
from typing import Literal

from ciwm.records.base import Record, RecordFile
from ciwm.records.ranks import RankFigures
from ciwm.records.run import Better, Order

SeriesOutcome = Literal[
    "failed",
    "missing",
    "regressed",
    "void",
    "inconclusive",
    "waived",
    "new",
    "unchanged",
    "improved",
]
SEVERITY: tuple[SeriesOutcome, ...] = (
    "failed",
    "missing",
    "regressed",
    "void",
    "inconclusive",
    "waived",
    "new",
    "unchanged",
    "improved",
)
RunOutcome = Literal["pass", "fail", "inconclusive", "void"]


class LaunchCount(Record):
    """Launches that counted, per side."""

    base: int
    head: int


class TailVerdict(Record):
    """The slowest 5 % of a series' iterations; values are geometric means of these in a launch.

    Where not `gated` it is a warning at most; `iterations` is the fewest of a launch.
    """

    outcome: SeriesOutcome
    gated: bool
    iterations: int
    ratio: float
    ci_low: float
    ci_high: float
    base_value: float
    head_value: float
    evidence: float
    evidence_needed: float
    threshold_pct: float
    reason: str


class Confirmation(Record):
    """What a second, independent run says of a series; its evidence multiplies (logs add)."""

    run: str
    outcome: SeriesOutcome
    ratio: float | None = None
    difference: float | None = None
    evidence: float
    evidence_together: float
    launches: LaunchCount


class Waived(Record):
    """The waiver that covers a regression: how far, why, by whom, and until which day."""

    ceiling_pct: float | None = None
    ceiling_abs: float | None = None
    reason: str
    author: str
    issue: str
    expires: date


class SeriesVerdict(Record):
    """One gated series. `ratio` is head/base as measured; evidence is in natural logs.

    `difference` is head - base in `unit`, where `threshold_abs` has it judged by that.
    `base_runs` is false where base does not build or run, so that there is nothing to compare.
    `by_tail` says that the outcome is that of the slowest iterations and not of the P50.
    `aggregate` says of what each launch is one figure, where a tool kept no samples.
    `of_build`: how long the builds took, in seconds; there is no evidence, `value_limit` is what
    head's may take, and a `threshold_pct` of 0 says that the two are not compared.
    `needs_confirmation`: slower in this run, and blocks once a second run says the same.
    """

    series: str
    metric: str
    unit: str
    better: Better
    outcome: SeriesOutcome
    ratio: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    base_value: float | None = None
    head_value: float | None = None
    evidence: float | None = None
    evidence_needed: float | None = None
    threshold_pct: float
    launches: LaunchCount
    launch_sd_pct: float | None = None
    base_runs: bool = True
    reason: str
    workload: str = ""
    threshold_abs: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    tail: TailVerdict | None = None
    by_tail: bool = False
    confirmation: Confirmation | None = None
    waiver: Waived | None = None
    aggregate: str = ""
    needs_confirmation: bool = False
    of_build: bool = False
    value_limit: float | None = None


class Verdict(RecordFile):
    """The decision on a run; `reason` is one sentence, `problems` name what was not right.

    `judged_by_itself` are workloads measured as the change under test left them; `devices` are
    figures of several devices, which are shown and not judged. `order` is the plan's: `alpha`
    bounds false alarms only where the order of launches was drawn.
    """

    run: str
    outcome: RunOutcome
    reason: str
    alpha: float
    family_size: int
    interval_method: str
    series: tuple[SeriesVerdict, ...]
    problems: tuple[str, ...] = ()
    judged_by_itself: tuple[str, ...] = ()
    devices: RankFigures | None = None
    order: Order = "seeded"

    @property
    def needs_confirmation(self) -> bool:
        """Whether a second run, from a fresh job, would settle something."""
        return any(series.needs_confirmation for series in self.series)
