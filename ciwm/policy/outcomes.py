"""The table of outcomes, one row a function; the first that applies is the series' outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.policy.tally import FAILURES
from ciwm.policy.trial import LARGEST
from ciwm.policy.words import (
    advice,
    does_not_run,
    named,
    on_trust,
    plain,
    proved,
    unchanged,
    undecided,
)
from ciwm.records import SEVERITY, SIDES

if TYPE_CHECKING:
    from ciwm.policy.case import Case
    from ciwm.policy.trial import Trial
    from ciwm.records.verdict import SeriesOutcome


class Outcome(NamedTuple):
    """An outcome and the sentence that explains it."""

    outcome: SeriesOutcome
    reason: str
    base_runs: bool = True
    by_tail: bool = False
    needs_confirmation: bool = False


def outcome(case: Case) -> Outcome:
    """The outcome of one series: the worst of its `outcomes`."""
    return min(outcomes(case), key=lambda found: SEVERITY.index(found.outcome))


def outcomes(case: Case) -> tuple[Outcome, ...]:
    """What a series comes to: by its P50, and by slowest iterations that may block, if in doubt.

    Both are told: where the one is waived, or may not block, the other still counts.
    """
    for row in (_failed, _without_base, _missing, _new, _sometimes_absent, _void, _apart):
        found = row(case)
        if found is not None:
            return (found,)
    return _judged(case)


def _failed(case: Case) -> Outcome | None:
    if case.runs("head"):
        return None
    also = _base_beside(case)
    reason = f"{named(case.series)}: head does not run: {does_not_run(case, 'head')}; {also}"
    return Outcome("failed", reason, case.runs("base"))


def _base_beside(case: Case) -> str:
    """What is known of base where head fails: of a head that did not build nothing was launched."""
    if not case.runs("base"):
        return f"neither does base: {does_not_run(case, 'base')}"
    if case.tally.ran["base"]:
        return "base runs"
    built = case.run.arm("base", case.series.workload).build is not None
    return "base builds" if built else "base was not launched"


def _without_base(case: Case) -> Outcome | None:
    if case.runs("base") or case.tally.kept_blocks:
        return None
    why = f"base does not run: {does_not_run(case, 'base')}"
    if case.has("head"):
        reason = f"{named(case.series)}: nothing to compare with, {why}; head runs"
        return Outcome("new", reason, base_runs=False)
    reason = f"{named(case.series)}: not measured on head, and {why}"
    return Outcome("missing", reason, base_runs=False)


def _missing(case: Case) -> Outcome | None:
    name = named(case.series)
    if not case.has("base") and not case.has("head"):
        stopped = plain(case.run.stopped_because)
        if case.awaits_its_turn:
            return Outcome(
                "inconclusive", f"{name}: the run ended before it was measured ({stopped})"
            )
        return Outcome("missing", f"{name}: planned, but measured on neither side ({stopped})")
    if case.has("base") and case.lacks("head"):
        return Outcome("missing", f"{name}: on base only, and not declared removed")
    return None


def _new(case: Case) -> Outcome | None:
    if case.has("head") and case.lacks("base"):
        return Outcome("new", f"{named(case.series)}: on head only, nothing to compare with")
    return None


def _sometimes_absent(case: Case) -> Outcome | None:
    absent, seen = case.trial.absent["head"], len(case.trial.seen["head"])
    if absent < FAILURES:
        return None
    reason = f"{named(case.series)}: {absent} of {absent + seen} head launches gave no value of it"
    return Outcome("failed", reason)


def _void(case: Case) -> Outcome | None:
    name = named(case.series)
    if case.incomparable:
        return Outcome("void", f"{name}: the two sides cannot be compared: {case.incomparable}")
    if case.tally.broken:
        return Outcome("void", f"{name}: {case.tally.broken}")
    if case.run.plan.order == "seeded" and case.tally.skipped_blocks:
        blocks = case.tally.skipped_blocks
        count = "1 block is" if blocks == 1 else f"{blocks} blocks are"
        return Outcome(
            "void",
            f"{name}: {count} not in the run, or not whole, or there twice: to leave out what was "
            "seen could make any answer",
        )
    if case.trial.verdict == "no ratio":
        return Outcome("void", f"{name}: {_no_ratio(case.trial)}")
    return None


def _no_ratio(trial: Trial) -> str:
    """Why the values of a series cannot be compared."""
    if trial.on_differences:
        return f"values beyond {LARGEST:g} have no difference that a number holds"
    if all(value > 0 for side in SIDES for value in trial.values[side]):
        return f"values below {1 / LARGEST:g} or beyond {LARGEST:g} have no ratio to rely on"
    return (
        "values at or below zero have no ratio, so that a threshold in percent means nothing; "
        "state a threshold_abs, in its unit"
    )


def _apart(case: Case) -> Outcome | None:
    """No order was drawn, so no evidence counts, however strong: what is seen is advice."""
    if case.run.plan.order != "apart" or not (case.has("base") and case.has("head")):
        return None
    return Outcome("inconclusive", advice(case.trial, case.aggregate))


def _judged(case: Case) -> tuple[Outcome, ...]:
    """By the P50, and by slowest iterations that may block where they are slower or in doubt."""
    trial = case.trial
    middle = outcome_of(trial, case)
    if case.run.plan.order == "trusted" and trial.launches:
        middle = middle._replace(reason=f"{middle.reason}; {on_trust(case.aggregate)}")
    if trial.tail is None or not trial.tail_gates:
        return (middle,)
    slowest = outcome_of(trial.tail, case)._replace(by_tail=True)
    return (middle, slowest) if slowest.outcome in ("regressed", "inconclusive") else (middle,)


def outcome_of(trial: Trial, case: Case) -> Outcome:
    """What the gate's verdict on a trial comes to."""
    order = case.run.plan.order
    if trial.verdict == "regress":
        return Outcome("regressed", proved(trial, order, worse=True))
    if trial.verdict == "improve":
        return Outcome("improved", proved(trial, order, worse=False))
    if trial.verdict == "pass":
        return Outcome("unchanged", unchanged(trial))
    return Outcome("inconclusive", undecided(trial, plain(case.run.stopped_because)))
