"""Outcomes in sentences that a reviewer understands."""

from __future__ import annotations

from math import exp, floor, log10
from statistics import median
from typing import TYPE_CHECKING

from ciwm.error_line import error_line
from ciwm.policy.blocks import APART
from ciwm.policy.scale import figure, limit, shown, signed, unit_of
from ciwm.records import SIDES
from ciwm.stats.gate import PASS_LEVEL
from ciwm.stats.launches import read_from_a_clock

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


def proved(trial: Trial, order: str, *, worse: bool) -> str:
    """A regression or an improvement: how large, how sure; `order` is the plan's."""
    said = f"{quantity(trial)} is {_change(trial)}"
    sure = _sureness(trial, order, worse=worse)
    return f"{said}; {sure}" if sure else said


def unchanged(trial: Trial) -> str:
    """A slowdown of the threshold is excluded: what was seen instead."""
    threshold = limit(trial.series)
    if trial.compared_exactly:
        if trial.values["base"][0] == trial.values["head"][0]:
            return f"{quantity(trial)} is the same in all {_launches(trial)}"
        return f"{quantity(trial)} is {_change(trial)}, below the threshold of {threshold}"
    seen, worst = (signed(trial.series, x) for x in (trial.gate.estimate, trial.gate.worst()))
    sure = f"with {100 * trial.gate.pass_level:g} % confidence"
    return (
        f"{quantity(trial)}: {seen}, and {sure} at worst {worst}: short of the "
        f"threshold of {threshold}, {_launches(trial)}"
    )


def advice(trial: Trial, aggregate: str) -> str:
    """What two sides measured apart look like; that decides nothing, as a remark says of all."""
    if trial.launches:
        found = _range(trial) if trial.comparable else _change(trial)
        seen = f"{found}, {_launches(trial)}"
    else:
        seen = _seen(trial)
    figure_only = f"; each launch is one figure ({aggregate}), no samples" if aggregate else ""
    return f"advice only: {quantity(trial)}: {seen}; base and head were measured apart{figure_only}"


def on_trust(aggregate: str) -> str:
    """What a decision on files measured apart is worth."""
    figures = f", and each launch is one figure ({aggregate}), no samples" if aggregate else ""
    return f"this is taken on trust and is no proof: the files were measured apart{figures}"


def _seen(trial: Trial) -> str:
    """Two sides without a complete block: their medians, and nothing that could say how sure."""
    base, head = (median(trial.seen[side]) for side in SIDES)
    counts = "+".join(str(len(trial.seen[side])) for side in SIDES)
    few = f"{counts} launches are too few for an interval"
    if trial.on_differences or base <= 0 or head <= 0:
        return f"{head:g} instead of {base:g} {trial.series.unit}".rstrip() + f", {few}"
    return f"{100 * (head / base - 1):+.1f} %, {few}"


def undecided(trial: Trial, stopped: str) -> str:
    """Neither proved nor excluded: what was seen, why it ended, and what it would take."""
    if not trial.launches:
        return f"{named(trial.series)}: no complete block of 2 base and 2 head launches ({stopped})"
    if not trial.comparable:
        few = f"{_launches(trial)} ({stopped})"
        return f"{quantity(trial)} is {_change(trial)}, but {few} are too few to prove it"
    return (
        f"{quantity(trial)}: {limit(trial.series)} for the worse is neither proved nor excluded: "
        f"{_range(trial)} after {_launches(trial)} ({stopped}), launch sd "
        f"{_width(trial, trial.gate.launch_sd)}{_asked(trial)}; {_what_it_takes(trial)}"
    )


def _asked(trial: Trial) -> str:
    """Why an interval that ends below the threshold may not do."""
    if trial.gate.pass_level == PASS_LEVEL:
        return ""
    asked = f"{100 * trial.gate.pass_level:g} %"
    return f" (more than the threshold, so that to exclude it takes {asked} confidence)"


def does_not_run(case: Case, side: Side) -> str:
    """Why a side is held not to build or run."""
    build = case.run.arm(side, case.series.workload).build
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


def _width(trial: Trial, width: float) -> str:
    if trial.on_differences:
        return f"{width:.3g}{unit_of(trial.series)}"
    return f"{100 * (exp(width) - 1):.2g} %"


def quantity(trial: Trial) -> str:
    """What was compared: a series' P50, its only value, or its slowest iterations."""
    if trial.of_slowest:
        return f"{named(trial.series)} of the slowest 5 % of iterations"
    return named(trial.series) + ("" if trial.single else " P50")


def _launches(trial: Trial) -> str:
    return f"{trial.launches}+{trial.launches} launches"


def _direction(series: Series, *, up: bool) -> str:
    if read_from_a_clock(series.unit) and series.better == "lower":
        return "slower" if up else "faster"
    return "higher" if up else "lower"


def _change(trial: Trial) -> str:
    series = trial.series
    if not trial.comparable:
        base, head = (trial.values[side][0] for side in ("base", "head"))
        return f"{head:g} instead of {base:g} {series.unit}"
    change = shown(series, trial.gate.estimate)
    size = f"{figure(series, abs(change))}{unit_of(series)} {_direction(series, up=change > 0)}"
    if trial.compared_exactly:
        return size
    sign = 1 if change > 0 else -1
    low, high = sorted(sign * shown(series, end) for end in trial.gate.interval())
    ends = f"{figure(series, low)} to {figure(series, high)}{unit_of(series)}"
    return f"{size} (95 % interval {ends}), {_launches(trial)}"


def _range(trial: Trial) -> str:
    series = trial.series
    low, high = sorted(shown(series, end) for end in trial.gate.interval())
    ends = f"{figure(series, low, sign=True)} to {figure(series, high, sign=True)}{unit_of(series)}"
    return f"{signed(series, trial.gate.estimate)} (95 % interval {ends})"


def _sureness(trial: Trial, order: str, *, worse: bool) -> str:
    """How sure a change is; nothing where no order was drawn, as no odds hold then."""
    if trial.compared_exactly:
        return f"all {_launches(trial)} agree within their side: compared exactly"
    if order in APART:
        return ""
    return odds(trial.gate.evidence if worse else trial.gate.evidence_faster, order)


def odds(evidence: float, *orders: str) -> str:
    """How rare such evidence is where nothing changed; `evidence` is a log."""
    drawn = all(order == "seeded" for order in orders)
    where = "" if drawn else ", and if the order was drawn at random"
    return (
        f"without a change{where}, evidence this strong appears less than once in "
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
