"""Whose a change is: upstream's, ours, or that of the two together."""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

from ciwm.policy.conditions import RULES, void_reason, void_reasons
from ciwm.policy.rank_figures import communication_share
from ciwm.policy.scale import as_measured, signed
from ciwm.policy.trials import measured
from ciwm.policy.words import named, plain
from ciwm.records.factorial import Attribution, FactorialShare, Part, SeriesAttribution
from ciwm.stats.factorial import CELLS, split
from ciwm.stats.launches import quantile, worse_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ciwm.gate_config import VoidConfig
    from ciwm.records import Launch, Series
    from ciwm.records.factorial import Cell, FactorialProfile, FactorialRun, Owner
    from ciwm.stats.factorial import Effect, Split

    Block = Mapping[Cell, Launch]

FEWEST = 4  # blocks: fewer give an interval that says nothing
INTERVAL_METHOD = (
    "two-sided Student intervals of the 20 %-trimmed mean (Yuen) of the contrast within blocks of "
    "one launch of each combination, in random order; those of a series hold together with 95 % "
    "(each with 98.75 %, Bonferroni); the interaction is what the two leave of the total"
)


def attribute(run: FactorialRun, rules: VoidConfig = RULES) -> Attribution:
    """Split the change of every series; blocks with a void or failed launch do not count."""
    whole = [block for block in _blocks(run) if _counts(block, rules)]
    return Attribution(
        run=run.id,
        factors=run.factors,
        interval_method=INTERVAL_METHOD,
        series=tuple(_series(series, whole, run) for series in run.family),
        communication=tuple(_share(one) for one in run.communication),
        problems=tuple(_problems(run, rules)),
    )


def _share(one: FactorialProfile) -> FactorialShare:
    return FactorialShare(cell=one.cell, share=communication_share(one.profile))


def _blocks(run: FactorialRun) -> list[Block]:
    groups: dict[tuple[str, int, int], dict[Cell, Launch]] = {}
    for one in run.launches:
        launch = one.launch
        key = (launch.workload, launch.block, launch.attempt)
        groups.setdefault(key, {})[one.cell] = launch
    return list(groups.values())


def _counts(block: Block, rules: VoidConfig) -> bool:
    launches = tuple(block.values())
    ended = all(launch.exit == "ok" for launch in launches)
    return ended and len(block) == len(CELLS) and not any(void_reasons(launches, rules))


def _series(series: Series, blocks: Iterable[Block], run: FactorialRun) -> SeriesAttribution:
    found = [one for block in blocks if (one := _values(series, block))]
    known = {
        "series": series.series,
        "metric": series.metric,
        "workload": series.workload,
        "unit": series.unit,
        "better": series.better,
        "threshold_abs": series.threshold_abs,
        "launches": len(found),
    }
    if len(found) < FEWEST:
        why = f"{len(found)} whole blocks, {FEWEST} are needed ({plain(run.stopped_because)})"
        return SeriesAttribution(**known, owner="unclear", reason=f"{named(series)}: {why}")
    if series.threshold_abs is None and any(min(block.values()) <= 0 for block in found):
        why = "values at or below zero have no ratio; state a threshold_abs, in its unit"
        return SeriesAttribution(**known, owner="unclear", reason=f"{named(series)}: {why}")
    scaled = [{cell: _scaled(series, value) for cell, value in block.items()} for block in found]
    parts = split(scaled)
    owner = _owner(parts)
    return SeriesAttribution(
        **known,
        values={cell: _middle(series, [block[cell] for block in found]) for cell in CELLS},
        **{name: _part(series, effect) for name, effect in parts._asdict().items()},
        owner=owner,
        reason=_sentence(series, parts, owner, run.factors, len(found)),
    )


def _values(series: Series, block: Block) -> dict[Cell, float] | None:
    found: dict[Cell, float] = {}
    for cell, launch in block.items():
        iterations = (
            measured(launch).get(series.key) if launch.workload == series.workload else None
        )
        if iterations is None:
            return None
        found[cell] = quantile(iterations, 0.5)
    return found


def _scaled(series: Series, value: float) -> float:
    if series.threshold_abs is None:
        return worse_log(value, series.better)
    return value if series.better == "lower" else -value


def _middle(series: Series, values: Sequence[float]) -> float:
    if series.threshold_abs is not None:
        return median(values)
    return exp(median(log(value) for value in values))


def _part(series: Series, effect: Effect) -> Part:
    change, *ends = (as_measured(series, value) for value in effect)
    return Part(change=change, low=min(ends), high=max(ends))


def _shown(effect: Effect) -> bool:
    """Whether the interval leaves no change out."""
    return effect.low > 0 or effect.high < 0


def _owner(parts: Split) -> Owner:
    first, second, meeting = (_shown(part) for part in parts[1:])
    if not any((_shown(parts.total), first, second, meeting)):
        return "nobody"
    if meeting:
        return "interaction"
    if first and second:
        return "both"
    if first or second:
        return "first" if first else "second"
    return "unclear"


def _sentence(
    series: Series, parts: Split, owner: Owner, factors: tuple[str, str], launches: int
) -> str:
    one, other = factors
    whose = {
        "nobody": "no change is shown",
        "first": f"the change is that of {one}",
        "second": f"the change is that of {other}",
        "both": f"{one} and {other} each change it",
        "interaction": f"{one} and {other} together do what neither does alone",
        "unclear": "there is a change, and whose it is cannot be told",
    }
    names = ("together", f"{one} alone", f"{other} alone", "their interaction")
    told = ", ".join(
        f"{name} {_range(series, part)}" for name, part in zip(names, parts, strict=True)
    )
    return (
        f"{named(series)}: {whose[owner]}: {told} (intervals that hold together with 95 %); "
        f"{launches} launches of each"
    )


def _range(series: Series, effect: Effect) -> str:
    low, high = sorted((effect.low, effect.high), key=lambda end: as_measured(series, end))
    ends = f"{signed(series, low)} to {signed(series, high)}"
    return f"{signed(series, effect.change)} ({ends})"


def _problems(run: FactorialRun, rules: VoidConfig) -> Iterator[str]:
    if not run.complete:
        yield f"the run is not complete: {plain(run.stopped_because)}"
    hard = {
        difference.what
        for arm in run.arms.values()
        for difference in run.arms["neither"].environment.diff(arm.environment)
        if difference.hard
    }
    if hard:
        yield f"the combinations were not measured alike: {', '.join(sorted(hard))} differs"
    bad = [one for one in run.launches if one.launch.exit != "ok"]
    for one in bad[:5]:
        launch = one.launch
        yield f"{launch.workload} {one.cell}: {launch.exit}: {plain(launch.detail)}"
    voids = [reason for one in run.launches if (reason := void_reason(one.launch, rules))]
    if voids:
        yield f"{len(voids)} launches were void ({voids[0]}); their blocks do not count"
