"""Outcomes in sentences that a reviewer understands."""

from __future__ import annotations

from math import exp, floor, log10
from typing import TYPE_CHECKING

from ciwm.error_line import error_line
from ciwm.stats.launches import as_ratio, read_from_a_clock

if TYPE_CHECKING:
    from ciwm.policy.case import Case
    from ciwm.policy.trial import Trial
    from ciwm.records import Series, Side

_LONGEST = 160  # of a worker's own words in ours


def named(series: Series) -> str:
    """The series and its metric."""
    return f"{series.series} {series.metric}"


def plain(text: str, longest: int = _LONGEST) -> str:
    """Foreign text on one line, without control characters, cut short."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else line[: longest - 3] + "..."


def proved(trial: Trial, *, worse: bool) -> str:
    """A regression or an improvement: how large, how sure."""
    return f"{_quantity(trial)} is {_change(trial)}; {_sureness(trial, worse=worse)}"


def unchanged(trial: Trial) -> str:
    """A slowdown of the threshold is excluded: what was seen instead."""
    threshold = f"{trial.series.threshold_pct:g} %"
    if trial.compared_exactly:
        if trial.values["base"][0] == trial.values["head"][0]:
            return f"{_quantity(trial)} is the same in all {_launches(trial)}"
        return f"{_quantity(trial)} is {_change(trial)}, below the threshold of {threshold}"
    worse = _direction(trial.series, up=trial.series.better == "lower")
    seen, worst = (
        _signed(as_ratio(change, trial.series.better))
        for change in (trial.gate.estimate, trial.gate.worst())
    )
    return (
        f"{_quantity(trial)} is not {worse} by {threshold}: {seen} %, and with 95 % confidence no "
        f"worse than {worst} %, {_launches(trial)}"
    )


def advice(trial: Trial) -> str:
    """What two sides measured apart look like, and why that decides nothing."""
    seen = _range(trial) if trial.has_logs else _change(trial)
    return (
        f"advice only: {_quantity(trial)}: {seen}, {_launches(trial)}; base and head were measured "
        "apart, and what changed between the two occasions cannot be told from the change itself"
    )


def undecided(trial: Trial, stopped: str) -> str:
    """Neither proved nor excluded: what was seen, why it ended, and what it would take."""
    threshold = f"{trial.series.threshold_pct:g} %"
    if not trial.launches:
        return f"{named(trial.series)}: no complete block of launches ({stopped})"
    if not trial.has_logs:
        few = f"{_launches(trial)} ({stopped})"
        return f"{_quantity(trial)} is {_change(trial)}, but {few} are too few to prove it"
    return (
        f"{_quantity(trial)}: {threshold} for the worse is neither proved nor excluded: "
        f"{_range(trial)} after {_launches(trial)} ({stopped}), launch sd "
        f"{percent(trial.gate.launch_sd)}; {_what_it_takes(trial)}"
    )


def does_not_run(case: Case, side: Side) -> str:
    """Why a side is held not to build or run."""
    build = case.run.arm(side).build
    if build is not None and not build.ok:
        tail = build.log_tail if build.status == "failed" else build.log_tail[-1:]
        why = plain(error_line(tail)) or "its log is empty"
        return f"{side} does not build ({build.status}: {why})"
    failures = case.tally.failures[side]
    first = failures[0]
    detail = f": {plain(first.detail)}" if first.detail else ""
    return (
        f"{len(failures)} of {case.tally.begun[side]} {side} launches ended with "
        f"{first.exit}{detail}"
    )


def percent(log_width: float) -> str:
    """A width on the log scale as a percentage."""
    return f"{100 * (exp(log_width) - 1):.2g} %"


def _quantity(trial: Trial) -> str:
    return named(trial.series) + ("" if trial.single else " P50")


def _launches(trial: Trial) -> str:
    return f"{trial.launches}+{trial.launches} launches"


def _direction(series: Series, *, up: bool) -> str:
    if read_from_a_clock(series.unit) and series.better == "lower":
        return "slower" if up else "faster"
    return "higher" if up else "lower"


def _change(trial: Trial) -> str:
    if not trial.has_logs:
        base, head = (trial.values[side][0] for side in ("base", "head"))
        return f"{head:g} instead of {base:g} {trial.series.unit}"
    better = trial.series.better
    ratio = as_ratio(trial.gate.estimate, better)
    word = _direction(trial.series, up=ratio > 1)
    size = f"{abs(ratio - 1) * 100:.1f} % {word}"
    if trial.compared_exactly:
        return size
    sign = 100 if ratio > 1 else -100
    ends = sorted(sign * (end - 1) for end in ratio_interval(trial))
    return f"{size} (95 % interval {ends[0]:.1f} to {ends[1]:.1f} %), {_launches(trial)}"


def _range(trial: Trial) -> str:
    low, high = ratio_interval(trial)
    ratio = as_ratio(trial.gate.estimate, trial.series.better)
    return f"{_signed(ratio)} % (95 % interval {_signed(low)} to {_signed(high)} %)"


def ratio_interval(trial: Trial) -> tuple[float, float]:
    """The 95 % interval of head/base as measured."""
    ends = [as_ratio(end, trial.series.better) for end in trial.gate.interval()]
    return min(ends), max(ends)


def _signed(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f}"


def _sureness(trial: Trial, *, worse: bool) -> str:
    if trial.compared_exactly:
        return f"all {_launches(trial)} agree within their side: compared exactly"
    evidence = trial.gate.evidence if worse else trial.gate.evidence_faster
    return (
        "without a change, evidence this strong appears less than once in "
        f"{_rounded_down(exp(min(evidence, 600)))} runs"
    )


def _rounded_down(value: float) -> str:
    """Two leading digits, never more than the value."""
    step = 10 ** max(floor(log10(value)) - 1, 0)
    whole = floor(value / step) * step
    return f"{whole:,}" if whole < 1e9 else f"{float(whole):.0e}"  # noqa: PLR2004


def _what_it_takes(trial: Trial) -> str:
    needed = trial.gate.launches_needed()
    if needed is not None:
        return f"about {needed} launches a side would probably decide it"
    return (
        "how many more it would take cannot be told, launches vary too much: a quieter machine or "
        "a wider threshold would decide"
    )
