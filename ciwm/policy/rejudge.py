"""A stranger's run, as the base's policy has it: what is judged, by which limits, in which unit.

Samples and the order of launches are all that is taken from the run. A plan that came with it may
leave series out, turn directions round, or name a family so large that nothing can be proved.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.records import Plan, Series

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.config import GateConfig
    from ciwm.records import Run

SHARDS_LIMIT = 64
FAMILY_LIMIT = 2_000  # series; ours of one run are a few hundred at most
ATTEMPTS_LIMIT = 8  # launches of a workload, as a multiple of both sides' budget


def replanned(run: Run, declared: Iterable[Series], gate: GateConfig) -> Run:
    """The run with the plan the base would have made; `declared` are the base's own series.

    Series the base declares are judged whether or not the run knows them: those it left out are
    missing. Further ones have the gate's threshold. Raises UsageError for a run that no interleaved
    benchmark of ours can have made.
    """
    _refuse_foreign(run, gate)
    labels = [shard.label for shard in run.plan.shards] or [""]
    known = {one.key: one for each in declared for one in map(each.in_shard, labels)}
    further = [_plain(one, gate) for one in run.plan.family if one.key not in known]
    family = (*known.values(), *further)
    plan = Plan(
        seed=run.plan.seed,
        max_launches=gate.max_launches,
        family=family,
        family_size=len(family),
        workloads=tuple(dict.fromkeys(series.workload for series in family)),
        workloads_from=run.plan.workloads_from,
        touched_workloads=run.plan.touched_workloads,
        shards=run.plan.shards,
    )
    return run.model_copy(update={"plan": plan})


def _refuse_foreign(run: Run, gate: GateConfig) -> None:
    if run.plan.order != "seeded":
        raise UsageError("run/run.json was not measured interleaved: nothing can be proved by it")
    labels = [shard.label for shard in run.plan.shards]
    if len(labels) > SHARDS_LIMIT or len(set(labels)) != len(labels):
        raise UsageError(f"run/run.json has more than {SHARDS_LIMIT} shards, or one label twice")
    if len(run.plan.family) > FAMILY_LIMIT:
        raise UsageError(f"run/run.json plans more than {FAMILY_LIMIT:,} series")
    most = 2 * gate.max_launches * ATTEMPTS_LIMIT
    launches = Counter(launch.workload for launch in run.launches)
    if any(count > most for count in launches.values()) or len(launches) > FAMILY_LIMIT:
        raise UsageError(
            f"run/run.json holds more than {most} launches of a workload, "
            f"and [gate] max_launches is {gate.max_launches}"
        )


def _plain(series: Series, gate: GateConfig) -> Series:
    """A series the base knows nothing of, by the gate's own threshold."""
    return Series(
        series=series.series,
        metric=series.metric,
        workload=series.workload,
        unit=series.unit,
        better=series.better,
        threshold_pct=gate.threshold_pct,
    )
