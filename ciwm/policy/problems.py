"""What was not right with a run, even where it changes no outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.policy.device_remarks import remarks
from ciwm.policy.first_guess import undetectable
from ciwm.policy.oddities import oddities
from ciwm.policy.thresholds import unused_rules
from ciwm.policy.trial import GATED_TAIL
from ciwm.policy.trials import family_size
from ciwm.policy.words import named, plain, proved
from ciwm.records import SIDES
from ciwm.stats.gate import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.config import GateConfig
    from ciwm.policy.watch import Watch
    from ciwm.records import Plan, Run, Side

_NAMED = 5  # names in one line; the rest are counted


def problems(
    run: Run, watch: Watch, config: GateConfig, removed: tuple[str, ...]
) -> tuple[str, ...]:
    """One line each, plain words."""
    return (
        *_plan(run, watch),
        *unused_rules(run.plan, config),
        *undetectable(run.plan, config),
        *_launches(watch),
        *remarks(run.launches),
        *_unplanned(run),
        *_order(run),
        *_left_over(run, watch),
        *_absent(watch),
        *oddities(run, watch),
        *_aggregates(run),
        *_tails(run, watch),
        *(f"{name}: absent on head, declared removed, not judged" for name in removed),
    )


def judged_by_itself(run: Run) -> tuple[str, ...]:
    """Workloads that the change edits, and that were measured as it left them.

    It could make them do nothing on either side, so that nothing about them is a success.
    """
    own = run.plan.workloads_from.sha != run.base.revision.sha
    return run.plan.touched_workloads if own else ()


def unprovable(plan: Plan, watch: Watch) -> Iterator[str]:
    """That no number of launches within the plan's limit can prove anything, where it is so."""
    needs = max((trial.gate.launches_to_block for trial in watch.trials), default=0)
    most = max((trial.launches for trial in watch.trials), default=0)
    if needs > max(plan.max_launches, most):
        yield (
            f"no regression can be proved: with {family_size(plan)} series it takes {needs} "
            f"launches a side at least, and max_launches is {plan.max_launches}"
        )


def _plan(run: Run, watch: Watch) -> Iterator[str]:
    plan = run.plan
    if plan.family_size < len(plan.family):
        yield (
            f"the plan counts {plan.family_size} series and holds {len(plan.family)}: "
            "judged as the larger family"
        )
    yield from unprovable(plan, watch)
    if plan.touched_workloads:
        yield (
            f"this change edits workloads it is measured by: {_few(plan.touched_workloads)}"
            + ("; the check is neutral at best" if judged_by_itself(run) else "")
        )
    for shard in plan.shards:
        if shard.missing:
            yield f"shard {plain(shard.label)} is missing: {plain(shard.missing)}"
    if not run.complete:
        yield f"the run is not complete: {plain(run.stopped_because)}"


def _launches(watch: Watch) -> Iterator[str]:
    sides: tuple[Side, Side] = ("base", "head")
    for name, tally in watch.tallies.items():
        for side in sides:
            failures = tally.failures[side]
            if failures:
                detail = f" ({plain(failures[0].detail)})" if failures[0].detail else ""
                effect = "held not to run" if tally.fails(side) else "left out of the verdict"
                yield (
                    f"{name}: {len(failures)} of {tally.begun[side]} {side} launches ended with "
                    f"{failures[0].exit}{detail}; {effect}"
                )
        if tally.void_blocks:
            yield (
                f"{name}: {_blocks(tally.void_blocks)} discarded, void launches: "
                f"{tally.void['base']} of base, {tally.void['head']} of head "
                f"({_few(sorted(set(tally.void_reasons)))}); left out of the verdict"
            )


def _blocks(count: int) -> str:
    return "1 block" if count == 1 else f"{count} blocks"


def _unplanned(run: Run) -> Iterator[str]:
    planned = {series.key for series in run.plan.family}
    found = {
        f"{samples.series} {samples.metric}"
        for launch in run.launches
        for samples in launch.samples
        if (samples.series, samples.metric) not in planned
    }
    if found:
        yield f"measured but not planned, and so not judged (renamed?): {_few(sorted(found))}"


def _order(run: Run) -> Iterator[str]:
    if run.plan.order == "apart":
        yield (
            "base and head were measured apart: what changed between the two occasions cannot be "
            "told from the change itself, so that nothing is proved (--trust-separate decides all "
            "the same)"
        )
    if run.plan.order == "trusted":
        yield (
            "base and head were measured apart, and are decided on trust (--trust-separate): the "
            "bound on false alarms does not hold, as whatever changed between the two occasions "
            "looks like the change itself"
        )
    if run.plan.order == "unknown":
        yield (
            "the order of launches inside blocks is not known: the bound on false alarms holds "
            "only if it was drawn at random"
        )


def _left_over(run: Run, watch: Watch) -> Iterator[str]:
    """Launches of another tool that make up no whole block: whoever drops some can get any answer.

    Of our own runs the table of outcomes makes such a block void.
    """
    found = []
    for name, tally in watch.tallies.items() if run.plan.order != "seeded" else ():
        base, head = (tally.ran[side] - BLOCK * tally.kept_blocks for side in SIDES)
        shown = run.plan.order == "apart" and not tally.kept_blocks  # all of them are
        if (base or head) and all(tally.ran.values()) and not shown:
            found.append(f"{plain(name)} ({base} base, {head} head)")
    if found:
        yield (
            f"launches left out, as they make up no whole block of {BLOCK} base and {BLOCK} head "
            f"launches: {_few(found)}"
        )


def _absent(watch: Watch) -> Iterator[str]:
    """Series that some launches did not give, and that are judged by the other blocks."""
    for trial in watch.trials:
        if trial.launches and any(trial.absent.values()):
            counts = ", ".join(f"{trial.absent[side]} {side}" for side in SIDES)
            yield (
                f"{named(trial.series)}: launches that gave no value of it: {counts}; their "
                "blocks are left out"
            )


def aggregates_of(run: Run) -> dict[tuple[str, str], str]:
    """The series whose launches give one figure each instead of samples, and of what it is."""
    return {
        (samples.series, samples.metric): samples.aggregate
        for launch in run.launches
        for samples in launch.samples
        if samples.aggregate
    }


def _aggregates(run: Run) -> Iterator[str]:
    """Series of which a launch gives an aggregate: what happens inside a launch is not seen."""
    found = aggregates_of(run)
    if found:
        kinds = sorted({plain(what) for what in found.values()})
        names = _few([" ".join(key) for key in found])
        yield (
            f"no samples, one figure a launch ({_few(kinds)}): {names}; what varies inside a "
            "launch cannot be seen"
        )


def _tails(run: Run, watch: Watch) -> Iterator[str]:
    """Slowest iterations that look worse where they may not block, and why they may not."""
    for trial in watch.trials:
        few = trial.launches > 0 and (trial.fewest or 0) < GATED_TAIL
        if trial.tail_wanted and few and not trial.single:
            yield (
                f"{named(trial.series)}: slowest iterations are not gated: launches have "
                f"{trial.fewest} iterations, gate_p99 takes {GATED_TAIL}"
            )
        if trial.tail is None or trial.tail_gates or trial.tail_verdict != "regress":
            continue
        if trial.verdict != "regress":
            yield f"warning only: {proved(trial.tail, run.plan.order, worse=True)}"


def _few(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
