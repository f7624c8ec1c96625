"""Runs measured apart, those of base and those of head, laid side by side as one.

No order was drawn between them, so the blocks made here are no evidence: the plan says "apart",
and the gate gives advice only, unless the user takes the risk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.bench.foreign_arm import common_facts, of_all
from ciwm.errors import UsageError
from ciwm.records import Plan, Run
from ciwm.stats.gate import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.records import Arm, Launch, Series, Side


def joined(base: Sequence[Run], head: Sequence[Run], *, trusted: bool) -> Run:
    """One run of the files of each side; of a run that holds both sides, its head is taken.

    Raises UsageError where a series does not mean the same in all of them.
    """
    if len({_has_workloads(run) for run in (*base, *head)}) > 1:
        base, head = [_by_series(run) for run in base], [_by_series(run) for run in head]
    runs = (*head, *base)
    family = _family(runs)
    launches = tuple(_renumbered(_blocks(_of_side(base, "base"), _of_side(head, "head"))))
    plan = Plan(
        seed=0,
        order="trusted" if trusted else "apart",
        max_launches=max(len(launches), *(run.plan.max_launches for run in runs)),
        family=family,
        family_size=max(len(family), *(run.plan.family_size for run in runs)),
        workloads=tuple(dict.fromkeys(series.workload for series in family)),
        workloads_from=head[0].plan.workloads_from,
    )
    arms = {"base": _arm(base), "head": _arm(head)}
    facts = common_facts(arms["base"].environment, arms["head"].environment)
    return Run(
        id=f"{_named(base)} and {_named(head)}",
        started_at=min(run.started_at for run in runs),
        plan=plan,
        base=arms["base"].model_copy(update={"environment": facts[0]}),
        head=arms["head"].model_copy(update={"environment": facts[1]}),
        launches=launches,
        complete=True,
        stopped_because="the files hold no more",
    )


def _has_workloads(run: Run) -> bool:
    """Whether a launch may hold several series; other tools' files have a launch for each."""
    return any(series.workload != series.series for series in run.plan.family)


def _by_series(run: Run) -> Run:
    """The run with a launch for each series, as other tools' files have it."""
    names: dict[str, list[str]] = {}
    for series in run.plan.family:
        names.setdefault(series.workload, []).append(series.series)
    family = tuple(one.model_copy(update={"workload": one.series}) for one in run.plan.family)
    launches = tuple(
        launch.model_copy(
            update={
                "workload": name,
                "samples": tuple(one for one in launch.samples if one.series == name),
            }
        )
        for launch in run.launches
        for name in dict.fromkeys(names.get(launch.workload, ()))
    )
    plan = run.plan.model_copy(update={"family": family})
    return run.model_copy(update={"plan": plan, "launches": launches})


def _named(runs: Sequence[Run]) -> str:
    return runs[0].id if len(runs) == 1 else f"{runs[0].id} and {len(runs) - 1} more"


def _arm(runs: Sequence[Run]) -> Arm:
    arms = [run.arm(_side(run)) for run in runs]
    environment = of_all([arm.environment for arm in arms])
    return arms[0].model_copy(update={"environment": environment})


def _family(runs: Sequence[Run]) -> tuple[Series, ...]:
    """Head's series, then those that only base has."""
    family: dict[tuple[str, str], tuple[Series, Run]] = {}
    for run in runs:
        for series in run.plan.family:
            other, where = family.setdefault(series.key, (series, run))
            for what in ("unit", "better"):
                here, there = getattr(series, what), getattr(other, what)
                if here != there:
                    raise UsageError(
                        f"{what} of {series.series} {series.metric} is {here!r} in {run.id} "
                        f"and {there!r} in {where.id}",
                        "the two cannot be compared; convert one of them",
                    )
    return tuple(series for series, _ in family.values())


def _side(run: Run) -> Side:
    return "head" if any(launch.side == "head" for launch in run.launches) else "base"


def _of_side(runs: Sequence[Run], side: Side) -> dict[str, list[Launch]]:
    """The launches taken from runs, by workload, as launches of `side`; those that ran first."""
    taken: dict[str, list[Launch]] = {}
    sides = [_side(run) for run in runs]
    own = [
        launch
        for run, side_taken in zip(runs, sides, strict=True)
        for launch in run.launches
        if launch.side == side_taken
    ]
    for launch in sorted(own, key=lambda launch: launch.exit != "ok"):
        named = launch.model_copy(update={"side": side})
        taken.setdefault(launch.workload, []).append(named)
    return taken


def _blocks(base: dict[str, list[Launch]], head: dict[str, list[Launch]]) -> Iterator[Launch]:
    for workload in dict.fromkeys((*head, *base)):
        for side in (base, head):
            for index, launch in enumerate(side.get(workload, [])):
                yield launch.model_copy(update={"block": index // BLOCK, "attempt": 0})


def _renumbered(launches: Iterator[Launch]) -> Iterator[Launch]:
    for number, launch in enumerate(launches):
        yield launch.model_copy(update={"number": number, "position": number})
