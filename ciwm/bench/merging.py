"""The partial runs of a workflow matrix as one run that the gate judges once.

Shards are told apart by labels (a device each, the same workloads), or measured different
workloads. What a missing shard was to measure stays planned, so that it is missed and never passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import EnvironmentFailure, UsageError
from ciwm.records import Plan, Run
from ciwm.records.labels import labelled
from ciwm.records.run import Shard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import Launch, Samples

SHARDS_LIMIT = 64
LABEL_THEM = "label the shards (LABEL=RUN), and the others are merged without it"


@dataclass(frozen=True)
class Part:
    """One shard: its label, and its run or why there is none."""

    label: str
    run: Run | None
    missing: str = ""


def with_absent(parts: Sequence[Part], expected: Sequence[str] = ()) -> tuple[Part, ...]:
    """The parts, and one without a run for each label of the matrix that has none.

    Labels are those that are expected, else those that the runs themselves were told of.
    """
    told = [name for part in parts if part.run is not None for name in part.run.plan.shard_labels]
    have = {part.label for part in parts}
    absent = [name for name in dict.fromkeys(expected or told) if name not in have]
    return (*parts, *(Part(name, None, "no run of it was given") for name in absent))


def merged(parts: Sequence[Part]) -> Run:
    """All partial runs as one; its family is that of all shards together.

    Raises EnvironmentFailure where there is no run at all, or none of a shard without a label,
    UsageError where they are not of the same revisions, or where two hold the same series under
    one label.
    """
    runs = [part.run for part in parts if part.run is not None]
    if not runs:
        why = "; ".join(f"{part.label}: {part.missing}" for part in parts)
        raise EnvironmentFailure(f"no shard has a run: {why}", "did every job of the matrix fail?")
    _refuse(parts, runs)
    first = runs[0]
    unended = [part for part in parts if part.run is None or not part.run.complete]
    launches = (
        _of_shard(launch, part.label)
        for part in parts
        if part.run is not None
        for launch in part.run.launches
    )
    ended = [run.ended_at for run in runs if run.ended_at is not None]
    return Run(
        id=" + ".join(run.id for run in runs),
        started_at=min(run.started_at for run in runs),
        ended_at=max(ended) if len(ended) == len(runs) else None,
        plan=_plan(parts, runs),
        base=first.base,
        head=first.head,
        launches=tuple(
            launch.model_copy(update={"number": i}) for i, launch in enumerate(launches)
        ),
        communication=tuple(
            one.model_copy(
                update={
                    "series": labelled(one.series, part.label),
                    "workload": labelled(one.workload, part.label),
                }
            )
            for part in parts
            if part.run is not None
            for one in part.run.communication
        ),
        complete=not unended,
        stopped_because="; ".join(_end(part) for part in unended or parts),
    )


def _refuse(parts: Sequence[Part], runs: Sequence[Run]) -> None:
    if len(parts) > SHARDS_LIMIT:
        raise UsageError(f"{len(parts)} shards are more than the {SHARDS_LIMIT} that can be merged")
    for run in runs:
        if run.plan.shards:
            raise UsageError(f"{run.id} is a merged run itself", "merge partial runs, all at once")
        if run.plan.order != "seeded" or run.plan.purpose != "compare":
            raise UsageError(f"{run.id} is not a run in which `ciwm bench BASE HEAD` compared")
        for side in ("base", "head"):
            here, there = runs[0].arm(side).revision, run.arm(side).revision
            if here.sha != there.sha:
                raise UsageError(
                    f"{side} is {here.sha[:12]} in {runs[0].id} and {there.sha[:12]} in {run.id}",
                    "shards of one matrix measure the same revisions",
                )
    _refuse_nameless(parts)
    _refuse_twice(parts)
    counts: dict[tuple[str, str], str] = {}
    for part in parts:
        for series in part.run.plan.family if part.run is not None else ():
            key = (labelled(series.series, part.label), series.metric)
            if key in counts:
                raise UsageError(
                    f"{' '.join(key)} is in two of the runs",
                    "tell the shards apart: ciwm merge h100=RUN a100=RUN",
                )
            counts[key] = part.label


def _refuse_nameless(parts: Sequence[Part]) -> None:
    """What a shard without a run was to measure is missed under its label, its alone."""
    labels = [part.label for part in parts]
    for part in (part for part in parts if part.run is None):
        if not part.label:
            raise EnvironmentFailure(f"a shard is missing: {part.missing}", LABEL_THEM)
        if labels.count(part.label) > 1:
            raise UsageError(
                f"shard {part.label} is given twice, and is missing once: {part.missing}",
                "name each shard once",
            )


def _refuse_twice(parts: Sequence[Part]) -> None:
    """One run under two labels would be another device's evidence too."""
    known: list[tuple[Run, str]] = []
    for run, label in ((part.run, part.label) for part in parts if part.run is not None):
        for other, first in known:
            if _is_one(run, other):
                raise UsageError(
                    f"{run.id} is given twice, as {first!r} and as {label!r}",
                    "each shard has a run of its own",
                )
        known.append((run, label))


def _is_one(run: Run, other: Run) -> bool:
    """Whether both are one run, be it before and after it was resumed.

    The id alone does not tell: jobs that begin within a second have the same.
    """
    alike = (run.id, run.plan.seed) == (other.id, other.plan.seed)
    return alike and any(launch in other.launches for launch in run.launches)


def _plan(parts: Sequence[Part], runs: Sequence[Run]) -> Plan:
    """The plan of all shards; one without a run was to measure what the others of a matrix did."""
    planned = [(part.label, (part.run or runs[0]).plan) for part in parts]
    family = tuple(series.in_shard(label) for label, plan in planned for series in plan.family)
    shards = tuple(_shard(part, (part.run or runs[0]).plan) for part in parts)
    return Plan(
        seed=runs[0].plan.seed,
        max_launches=max(run.plan.max_launches for run in runs),
        family=family,
        family_size=max(len(family), *(run.plan.family_size for run in runs)),
        workloads=tuple(name for shard in shards for name in shard.workloads),
        workloads_from=runs[0].plan.workloads_from,
        touched_workloads=tuple(
            labelled(name, label) for label, plan in planned for name in plan.touched_workloads
        ),
        gone=tuple(series.in_shard(label) for label, plan in planned for series in plan.gone),
        added=tuple(labelled(name, label) for label, plan in planned for name in plan.added),
        collectives=tuple(
            one.in_shard(label) for label, plan in planned for one in plan.collectives
        ),
        scaling=tuple(one.in_shard(label) for label, plan in planned for one in plan.scaling),
        shards=shards,
    )


def _shard(part: Part, plan: Plan) -> Shard:
    run = part.run
    names = tuple(labelled(name, part.label) for name in plan.workloads)
    if run is None:
        return Shard(label=part.label, workloads=names, missing=part.missing)
    return Shard(
        label=part.label,
        run=run.id,
        seed=plan.seed,
        workloads=names,
        base=run.base,
        head=run.head,
        complete=run.complete,
        stopped_because=run.stopped_because,
    )


def _end(part: Part) -> str:
    why = part.missing if part.run is None else part.run.stopped_because
    return f"{part.label}: {why}" if part.label else why


def _of_shard(launch: Launch, label: str) -> Launch:
    """The launch under its merged names; its log is in the folder of its shard."""
    if not label:
        return launch
    ranks = (
        one.model_copy(update={"samples": _labelled(one.samples, label)}) for one in launch.ranks
    )
    changes = {
        "workload": labelled(launch.workload, label),
        "samples": _labelled(launch.samples, label),
        "ranks": tuple(ranks),
        "log": f"{label}/{launch.log}" if launch.log else "",
    }
    return launch.model_copy(update=changes)


def _labelled(samples: Sequence[Samples], label: str) -> tuple[Samples, ...]:
    return tuple(one.model_copy(update={"series": labelled(one.series, label)}) for one in samples)
