"""Two runs measured apart, laid side by side as one that the gate can look at.

No order was drawn between them, so the blocks made here are no evidence: the plan says "apart",
and the gate gives advice only, unless the user takes the risk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.records import Plan, Run
from ciwm.stats.gate import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.records import Launch, Series, Side


def joined(base: Run, head: Run, *, trusted: bool) -> Run:
    """One run of the two; of a run that holds both sides, its head is taken.

    Raises UsageError where a series does not mean the same in both.
    """
    family = _family(base, head)
    launches = tuple(_renumbered(_blocks(_of_side(base, "base"), _of_side(head, "head"))))
    plan = Plan(
        seed=0,
        order="unknown" if trusted else "apart",
        max_launches=max(base.plan.max_launches, head.plan.max_launches, len(launches)),
        family=family,
        family_size=max(len(family), base.plan.family_size, head.plan.family_size),
        workloads=tuple(dict.fromkeys(series.workload for series in family)),
        workloads_from=head.plan.workloads_from,
    )
    return Run(
        id=f"{base.id} and {head.id}",
        started_at=min(base.started_at, head.started_at),
        plan=plan,
        base=base.arm(_side(base)),
        head=head.arm(_side(head)),
        launches=launches,
        complete=True,
        stopped_because="the files hold no more",
    )


def _family(base: Run, head: Run) -> tuple[Series, ...]:
    """Head's series, then those that only base has."""
    family = {series.key: series for series in head.plan.family}
    for series in base.plan.family:
        other = family.setdefault(series.key, series)
        for what in ("unit", "better"):
            here, there = getattr(series, what), getattr(other, what)
            if here != there:
                raise UsageError(
                    f"{what} of {series.series} {series.metric} is {here!r} in {base.id} "
                    f"and {there!r} in {head.id}",
                    "the two cannot be compared; convert one of them",
                )
    return tuple(family.values())


def _side(run: Run) -> Side:
    return "head" if any(launch.side == "head" for launch in run.launches) else "base"


def _of_side(run: Run, side: Side) -> dict[str, list[Launch]]:
    """The launches taken from a run, by workload, as launches of `side`; those that ran first."""
    taken: dict[str, list[Launch]] = {}
    own = [launch for launch in run.launches if launch.side == _side(run)]
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
