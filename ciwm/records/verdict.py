"""Verdict: what the gate decided, series by series, and why."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record, RecordFile
from ciwm.records.run import Better

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


class SeriesVerdict(Record):
    """One gated series. `ratio` is head/base as measured; evidence is in natural logs.

    `base_runs` is false where base does not build or run, so that there is nothing to compare.
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


class Verdict(RecordFile):
    """The decision on a run; `reason` is one sentence, `problems` name what was not right."""

    run: str
    outcome: RunOutcome
    reason: str
    alpha: float
    family_size: int
    interval_method: str
    series: tuple[SeriesVerdict, ...]
    problems: tuple[str, ...] = ()
