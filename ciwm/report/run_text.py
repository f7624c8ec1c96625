"""A run as a table for a terminal or a log: what was measured, before any verdict."""

from __future__ import annotations

from collections import Counter
from math import exp, log
from statistics import fmean, median
from typing import TYPE_CHECKING

from ciwm.policy import decide
from ciwm.policy.blocks import blocks
from ciwm.policy.conditions import RULES, counted, void_reasons
from ciwm.policy.rank_figures import rank_figures
from ciwm.records import SIDES
from ciwm.report.figures import change, duration, quantity
from ciwm.report.ranks import rank_text
from ciwm.stats.launches import as_ratio, quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.gate_config import GateConfig, VoidConfig
    from ciwm.records import Launch, Run, Series, Side

HEADERS = ("series", "metric", "base P50", "head P50", "head/base", "launches")
NOTHING = "-"
ANSWERS = ("regressed", "unchanged", "improved")


def run_text(run: Run, rules: VoidConfig = RULES) -> str:
    """One row a series (medians over launches of blocks that count), then what did not end well."""
    from tabulate import tabulate  # noqa: PLC0415  only where it is used

    launches = counted(run.launches, rules)
    rows = [_row(series, launches) for series in run.plan.family]
    table = tabulate(rows, headers=HEADERS, tablefmt="simple", disable_numparse=True)
    devices = rank_text(rank_figures(run, rules))
    voids = _voids(blocks(run.launches), rules)
    troubles = (*_troubles(run.launches), *voids, *_touched(run))
    return "\n".join([table, *devices, *troubles])


def saved_text(run: Run, gate: GateConfig) -> str:
    """What deciding early has saved of the launches the plan allows; empty where nothing was.

    Of workloads that were decided: one that is void, or does not run, was given up.
    """
    if not run.complete or run.plan.purpose != "compare":
        return ""
    took_s: dict[str, list[float]] = {name: [] for name in _decided(run, gate)}
    for launch in counted(run.launches, gate.void):
        if launch.workload in took_s:
            took_s[launch.workload].append(launch.duration_s)
    most = len(SIDES) * run.plan.max_launches
    spared = {name: most - len(own) for name, own in took_s.items() if own and len(own) < most}
    if not spared:
        return ""
    total, left = most * len(took_s), sum(spared.values())
    time_s = sum(number * fmean(took_s[name]) for name, number in spared.items())
    return (
        f"decided early: {total - left:,} of at most {total:,} launches, "
        f"about {duration(time_s)} saved"
    )


def _decided(run: Run, gate: GateConfig) -> list[str]:
    """The workloads of which every series has an answer."""
    open_ones = {one.workload for one in decide(run, gate).series if one.outcome not in ANSWERS}
    return [name for name in run.plan.workloads if name not in open_ones]


def _row(series: Series, launches: Sequence[Launch]) -> tuple[str, ...]:
    values = {side: _values(series, side, launches) for side in SIDES}
    middle = _middle if min((*values["base"], *values["head"]), default=0) > 0 else median
    cells = [quantity(middle(v), series.unit) if v else NOTHING for v in values.values()]
    counts = "+".join(str(len(v)) for v in values.values())
    ratio = _ratio(values["base"], values["head"])
    return (series.series, series.metric, *cells, ratio, counts)


def _values(series: Series, side: Side, launches: Sequence[Launch]) -> list[float]:
    own = [one for one in launches if one.side == side and one.workload == series.workload]
    taken = [one for launch in own for one in launch.samples]
    return [quantile(one.values, 0.5) for one in taken if (one.series, one.metric) == series.key]


def _middle(values: Sequence[float]) -> float:
    """The median of logs, so that the two sides are what `_ratio` is of."""
    return exp(median(map(log, values)))


def _ratio(base: Sequence[float], head: Sequence[float]) -> str:
    """Head/base of the medians of logs, as the gate estimates it."""
    if not base or not head or min(*base, *head) <= 0:
        return NOTHING
    ratio = as_ratio(median(map(log, head)) - median(map(log, base)), "lower")
    return f"{ratio:.4f} ({change(ratio)})"


def _troubles(launches: Sequence[Launch]) -> list[str]:
    """How many launches did not end well, by workload, side and reason, with one detail each."""
    bad = [one for one in launches if one.exit != "ok"]
    counts = Counter((one.workload, one.side, one.exit) for one in bad)
    details = {(one.workload, one.side, one.exit): one for one in bad}
    return [
        f"{workload} {side}: {number} x {reason}: {details[workload, side, reason].detail}"
        f" (log: {details[workload, side, reason].log})"
        for (workload, side, reason), number in counts.items()
    ]


def _voids(every: Sequence[Sequence[Launch]], rules: VoidConfig) -> list[str]:
    """How many launches were void, by workload, side and reason."""
    counts = Counter(
        (launch.workload, launch.side, reason)
        for block in every
        for launch, reason in zip(block, void_reasons(block, rules), strict=True)
        if reason
    )
    return [
        f"{workload} {side}: {number} x void, its block discarded: {reason}"
        for (workload, side, reason), number in counts.items()
    ]


def _touched(run: Run) -> list[str]:
    names = ", ".join(run.plan.touched_workloads)
    return [f"base..head changes the code of these workloads themselves: {names}"] if names else []
