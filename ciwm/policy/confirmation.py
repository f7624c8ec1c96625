"""Confirmation: a regression blocks when a second, independent run says the same.

What a whole runner has in common (a noisy neighbour, one bad card) no order inside one run can
average out. Evidence of runs whose orders were drawn apart multiplies, and stays as rare as it says
where nothing changed; the second run must also see a change of the threshold's size by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.policy.blocks import APART
from ciwm.policy.outcomes import Outcome, outcome
from ciwm.policy.scale import as_measured, signed
from ciwm.policy.thresholds import replaced
from ciwm.policy.words import odds, plain, quantity
from ciwm.records import Confirmation, LaunchCount

if TYPE_CHECKING:
    from ciwm.policy.case import Case
    from ciwm.policy.trial import Trial
    from ciwm.records import Plan, Run

HINT = (
    "measure again in a fresh job: ciwm bench BASE HEAD, then ciwm gate RUN --confirm RUN2 "
    "(in CI: ciwm ci --confirms RUN)"
)
_ROUNDING = 1e-9  # of the threshold


def refuse_unlike(run: Run, second: Run) -> None:
    """Raise UsageError where a second run cannot confirm the first."""
    if run.id == second.id:
        raise UsageError(f"{run.id} twice: a run cannot confirm itself", HINT)
    for side in ("base", "head"):
        here, there = run.arm(side).revision, second.arm(side).revision
        if (here.tree or here.sha) != (there.tree or there.sha):
            raise UsageError(
                f"the second run is of another {side}: {there.sha[:12]}, not {here.sha[:12]}", HINT
            )
    if run.plan.order in APART or second.plan.order in APART:
        raise UsageError("sides that were measured apart are no evidence, and confirm nothing")
    _refuse_one_order(run.plan, second.plan)
    _refuse_unplanned(run.plan, second.plan)
    for series in second.plan.family:
        first = next((one for one in run.plan.family if one.key == series.key), series)
        if (first.unit, first.better) != (series.unit, series.better):
            raise UsageError(
                f"{series.series} {series.metric} is in {first.unit} ({first.better} is better) "
                f"here and in {series.unit} ({series.better}) in the second run"
            )


def _refuse_unplanned(first: Plan, second: Plan) -> None:
    """Raise UsageError where the second run has series that the first did not: nobody judges them.

    So it is where it belongs to a whole matrix, and the first is of one device.
    """
    known = {series.key for series in (*first.family, *first.gone)}
    for series in (*second.family, *second.gone):
        if series.key not in known:
            raise UsageError(
                f"the first run did not plan {plain(series.series)} {series.metric}, which is in "
                "the second: it would not be judged",
                "name the first run of the same workloads on the same devices: a merged run for "
                "one of a matrix",
            )


def _refuse_one_order(first: Plan, second: Plan) -> None:
    """Raise UsageError where both drew one launch order, be it in one shard of a matrix alone."""
    if not first.order == second.order == "seeded":
        return
    drawn = _seeds(first).items() & _seeds(second).items()
    for label, seed in sorted(drawn):
        where = f" in shard {plain(label)}" if label else ""
        raise UsageError(
            f"both runs drew the same launch order{where} (seed {seed}): their evidence does not "
            "multiply",
            "leave --seed out, or give another",
        )


def _seeds(plan: Plan) -> dict[str, int]:
    """The seed by the label of its shard; without a label, of the whole run."""
    return {shard.label: shard.seed for shard in plan.shards if not shard.missing} or {
        "": plan.seed
    }


def like(run: Run, second: Run) -> Run:
    """The second run, its series by the thresholds of the first's."""
    known = {series.key: series for series in run.plan.family}
    family = tuple(
        replaced(series, first.threshold_pct, first.threshold_abs)
        if (first := known.get(series.key))
        else series
        for series in second.plan.family
    )
    return second.model_copy(update={"plan": second.plan.model_copy(update={"family": family})})


def unconfirmed(found: Outcome) -> Outcome:
    """A regression that no second run has confirmed yet."""
    if found.outcome != "regressed":
        return found
    reason = f"needs confirmation: {found.reason}"
    return Outcome("inconclusive", reason, by_tail=found.by_tail, needs_confirmation=True)


def confirmed(found: Outcome, case: Case, other: Case | None) -> Outcome:
    """The outcome of a series with what a second run says of it."""
    if found.outcome not in ("regressed", "inconclusive") or case.trial.launches == 0:
        return found
    if other is None:
        return _not_confirmed(found, "the second run did not plan it")
    alone = outcome(other)
    if alone.outcome in ("void", "failed", "missing", "new"):
        return _not_confirmed(found, f"the second run: {alone.reason}")
    if case.trial.compared_exactly and other.trial.compared_exactly:
        return _counted_again(found, alone)
    orders = case.run.plan.order, other.run.plan.order
    return _together(found, *_trials(case, other, by_tail=found.by_tail), orders)


def _together(
    found: Outcome, first: Trial, second: Trial | None, orders: tuple[str, str]
) -> Outcome:
    """Both runs have seen a change of the threshold's size, and their evidence suffices."""
    if second is None or not (first.gate.base and second.gate.base):
        return _not_confirmed(found, "the second run has nothing to set beside it")
    series = first.series
    evidence = first.gate.evidence + second.gate.evidence
    seen = f"the second run saw {signed(series, second.gate.estimate)}"
    if not (_large(first) and _large(second)) or evidence < _needed(first, second):
        return _not_confirmed(found, seen)
    reason = (
        f"{quantity(first)} is worse ({signed(series, first.gate.estimate)}), confirmed: {seen}; "
        f"together, {odds(evidence, *orders)}"
    )
    return Outcome("regressed", reason, by_tail=found.by_tail)


def confirmation(case: Case, other: Case | None, *, by_tail: bool) -> Confirmation | None:
    """What a second run says of a series, in numbers; of slowest iterations where they decided."""
    if other is None or not other.trial.launches or not other.trial.gate.base:
        return None
    first, trial = _trials(case, other, by_tail=by_tail)
    if trial is None:
        first, trial = case.trial, other.trial
    change = as_measured(trial.series, trial.gate.estimate)
    return Confirmation(
        run=other.run.id,
        outcome=outcome(other).outcome,
        ratio=None if trial.on_differences else change,
        difference=change if trial.on_differences else None,
        evidence=trial.gate.evidence,
        evidence_together=first.gate.evidence + trial.gate.evidence,
        launches=LaunchCount(base=trial.launches, head=trial.launches),
    )


def _counted_again(found: Outcome, alone: Outcome) -> Outcome:
    """A count that no clock reads: it is the same in the second run, or it is not."""
    if found.outcome != "regressed":
        return found
    if alone.outcome != "regressed":
        return _not_confirmed(found, f"the second run: {alone.reason}")
    return found._replace(reason=f"{found.reason}; confirmed by a second run")


def _not_confirmed(found: Outcome, why: str) -> Outcome:
    if found.outcome != "regressed":
        return found
    reason = f"not confirmed: {plain(why, 300)}; the first run: {found.reason}"
    return Outcome("inconclusive", reason, by_tail=found.by_tail)


def _trials(case: Case, other: Case, *, by_tail: bool) -> tuple[Trial, Trial | None]:
    """What decided in the first run, and the same in the second."""
    if not by_tail or case.trial.tail is None:
        return case.trial, other.trial
    return case.trial.tail, other.trial.tail if other.trial.tail_gates else None


def _large(trial: Trial) -> bool:
    gate = trial.gate
    return bool(gate.base) and gate.estimate >= gate.limit * (1 - _ROUNDING)


def _needed(first: Trial, second: Trial) -> float:
    """What the larger family of the two asks for."""
    return max(first.gate.evidence_needed, second.gate.evidence_needed)
