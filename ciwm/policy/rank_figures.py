"""Figures of several devices: bandwidths, scaling efficiency, load imbalance, communication.

They are shown and judged by nobody: the gate judges the series they are made of.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING, Any

from ciwm.policy.conditions import RULES, counted
from ciwm.policy.trial import LARGEST
from ciwm.records.labels import unlabelled
from ciwm.records.ranks import (
    CollectiveFigure,
    CommunicationShare,
    ImbalanceFigure,
    Pair,
    RankFigures,
    ScalingFigure,
)
from ciwm.records.run import SIDES
from ciwm.stats.collectives import algbw_gb_s, bus_factor, efficiency, imbalance_pct
from ciwm.stats.launches import quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ciwm.gate_config import VoidConfig
    from ciwm.records.ranks import (
        CollectiveSeries,
        CommunicationProfile,
        ScalingGroup,
        ScalingPoint,
    )
    from ciwm.records.run import Launch, Run, Series, Side

STEP_TIME = "step_time"
SECONDS_IN = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "ns": 1e9}
ByRank = list[tuple[float, ...]]  # the ranks' times, iteration by iteration


def rank_figures(run: Run, rules: VoidConfig = RULES) -> RankFigures | None:
    """What the blocks that count say of several devices; None where there were none."""
    launches = counted(run.launches, rules)
    times: dict[Side, dict[str, list[ByRank]]] = {"base": {}, "head": {}}
    for launch in launches:
        for series, by_rank in _by_rank(launch).items():
            times[launch.side].setdefault(series, []).append(by_rank)
    figures = RankFigures(
        collectives=tuple(_collective(one, run, times) for one in run.plan.collectives),
        scaling=tuple(
            figure for group in run.plan.scaling for figure in _scaling(group, run, launches)
        ),
        imbalance=tuple(_imbalance(run, times)),
        communication=tuple(map(communication_share, run.communication)),
    )
    return figures if figures != RankFigures() else None


def communication_share(profile: CommunicationProfile) -> CommunicationShare:
    """The shares of the slowest rank, and the most that any rank has."""
    about: dict[str, Any] = {"series": profile.series, "side": profile.side}
    if not profile.ranks:
        return CommunicationShare(**about, problem=profile.problem or "nothing was written of it")
    slowest = max(profile.ranks, key=lambda one: one.own_s)
    return CommunicationShare(
        **about,
        ranks=len(profile.ranks),
        slowest_rank=slowest.rank,
        exposed_pct=100 * slowest.exposed_s / slowest.step_s,
        total_pct=100 * slowest.total_s / slowest.step_s,
        most_exposed_pct=max(100 * one.exposed_s / one.step_s for one in profile.ranks),
        most_total_pct=max(100 * one.total_s / one.step_s for one in profile.ranks),
        step_s=max(one.step_s for one in profile.ranks),
    )


def _by_rank(launch: Launch) -> dict[str, ByRank]:
    """The times of each series of a launch of several ranks."""
    found: defaultdict[str, list[tuple[float, ...]]] = defaultdict(list)
    for rank in launch.ranks:
        for samples in rank.samples:
            if samples.metric == STEP_TIME:
                found[samples.series].append(samples.values)
    return {
        name: list(zip(*each, strict=False))
        for name, each in found.items()
        if len(each) == len(launch.ranks) and all(map(_is_quantity, chain.from_iterable(each)))
    }


def _is_quantity(value: float) -> bool:
    """Whether ratios can be made of a value; a file may hold anything."""
    return 1 / LARGEST <= value <= LARGEST


def _collective(
    one: CollectiveSeries, run: Run, times: dict[Side, dict[str, list[ByRank]]]
) -> CollectiveFigure:
    in_second = SECONDS_IN[_unit(run, one.series)]
    factor = bus_factor(one.operation, one.ranks)
    rates: dict[Side, float | None] = {}
    for side in SIDES:
        took = _median(times[side].get(one.series, []), max)
        rates[side] = None if took is None else algbw_gb_s(one.size_bytes, took / in_second)
    return CollectiveFigure(
        series=one.series,
        size_bytes=one.size_bytes,
        ranks=one.ranks,
        algbw_gb_s=Pair(**rates),
        busbw_gb_s=Pair(**{side: None if v is None else v * factor for side, v in rates.items()}),
        peak_gb_s=one.peak_gb_s,
        peak_source=one.peak_source,
    )


def _unit(run: Run, series: str) -> str:
    """The unit of a series' times; the worker's own where only what is made of them is declared."""
    return next((s.unit for s in run.plan.family if s.key == (series, STEP_TIME)), "s")


def _imbalance(run: Run, times: dict[Side, dict[str, list[ByRank]]]) -> Iterator[ImbalanceFigure]:
    collectives = {one.series for one in run.plan.collectives}
    for series in dict.fromkeys(one.series for one in run.plan.family):
        known = [times[side].get(series, []) for side in SIDES]
        sizes = [len(step) for launches in known for by_rank in launches for step in by_rank]
        if sizes and series not in collectives:
            pair = {side: _median(times[side].get(series, []), imbalance_pct) for side in SIDES}
            yield ImbalanceFigure(series=series, ranks=max(sizes), imbalance_pct=Pair(**pair))


def _median(
    launches: Sequence[ByRank], of_step: Callable[[Sequence[float]], float]
) -> float | None:
    """The median over launches of the median over their steps."""
    found = [median(map(of_step, by_rank)) for by_rank in launches if by_rank]
    return median(found) if found else None


def _scaling(group: ScalingGroup, run: Run, launches: Sequence[Launch]) -> Iterator[ScalingFigure]:
    """Efficiencies against the reference, series by series: by name, or the only ones there are."""
    reference, *others = group.points
    known = _series_of(run, reference, group.metric)
    for point in others:
        own = _series_of(run, point, group.metric)
        for name, series in own.items():
            lone = next(iter(known.values())) if len(known) == len(own) == 1 else None
            basis = known.get(name, lone)
            if basis is not None:
                yield ScalingFigure(
                    group=group.id,
                    kind=group.kind,
                    series=series.series,
                    ranks=point.ranks,
                    reference=basis.series,
                    reference_ranks=reference.ranks,
                    efficiency=Pair(
                        **{
                            side: _efficiency(
                                group.kind,
                                (reference.ranks, _value(launches, basis, side)),
                                (point.ranks, _value(launches, series, side)),
                                more_is_better=series.better == "higher",
                            )
                            for side in SIDES
                        }
                    ),
                )


def _series_of(run: Run, point: ScalingPoint, metric: str) -> dict[str, Series]:
    """The series of a point by what follows its workload's name."""
    own = [s for s in run.plan.family if s.workload == point.workload and s.metric == metric]
    shard = run.plan.shard_of(point.workload)
    name = unlabelled(point.workload, shard.label) if shard is not None else point.workload
    return {one.series.removeprefix(name): one for one in own}


def _value(launches: Sequence[Launch], series: Series, side: Side) -> float | None:
    found = [
        quantile(one.values, 0.5)
        for launch in launches
        if launch.side == side and launch.workload == series.workload
        for one in launch.samples
        if (one.series, one.metric) == series.key
    ]
    return median(found) if found else None


def _efficiency(
    kind: str,
    reference: tuple[int, float | None],
    scaled: tuple[int, float | None],
    *,
    more_is_better: bool,
) -> float | None:
    """Of a rate of all ranks, whose inverse is the time for a fixed amount of work: as strong."""
    (few, before), (many, after) = reference, scaled
    if before is None or after is None or not (_is_quantity(before) and _is_quantity(after)):
        return None
    if more_is_better:
        return efficiency("strong", (few, 1 / before), (many, 1 / after))
    return efficiency(kind, (few, before), (many, after))
