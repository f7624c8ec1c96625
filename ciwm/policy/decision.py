"""Deciding on a run: every series' outcome, then the run's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.policy.answer import headline, may_block, run_outcome
from ciwm.policy.blocks import APART, blocks
from ciwm.policy.build_time import of_run
from ciwm.policy.case import Case, declared_removed
from ciwm.policy.confirmation import confirmation, confirmed, like, refuse_unlike, unconfirmed
from ciwm.policy.figures import figures, middle, seen_figures, tail_figures
from ciwm.policy.gone import gone_verdict, renames
from ciwm.policy.outcomes import Outcome, outcomes
from ciwm.policy.problems import aggregates_of, judged_by_itself, problems
from ciwm.policy.rank_figures import rank_figures
from ciwm.policy.tally import Tally
from ciwm.policy.thresholds import ruled
from ciwm.policy.trials import family_size
from ciwm.policy.waiving import Waivers, remarks, waived
from ciwm.policy.watch import Watch
from ciwm.policy.words import named
from ciwm.records import SEVERITY, SIDES, LaunchCount, SeriesVerdict, Verdict

if TYPE_CHECKING:
    from ciwm.config import GateConfig
    from ciwm.records import Confirmation, Run, Series, Waived

INTERVAL_METHOD = (
    "95 % two-sided Student interval of the 20 %-trimmed mean of the log differences of launches "
    "paired in recorded order (Yuen), widened where needed to hold the ratio of the medians "
    "(differences in the unit where the threshold is absolute); that a change is excluded is "
    "decided by the one-sided limit of the same mean, at 95 %, or at 99 % where the launch sd is "
    "more than the threshold; sampling stops when the gate has decided, and an interval read after "
    "such a stop covers somewhat less than 95 %; the false-alarm bound does not rest on it"
)


def decide(
    run: Run, config: GateConfig, second: Run | None = None, waivers: Waivers | None = None
) -> Verdict:
    """The verdict on a run, by the same watch that told its bench when to stop.

    A second run of the same revisions confirms a regression or leaves it in doubt; waivers are
    those of the base revision. Raises UsageError for a plan the gate cannot judge, and for a
    second run that is unlike the first.
    """
    watch = _watched(run, config)
    cases = _cases(run, watch)
    others: dict[tuple[str, str], Case] = {}
    notes: tuple[str, ...] = ()
    if second is not None:
        refuse_unlike(run, second)
        second = like(run, second)
        other_watch = _watched(second, config)
        others = {case.series.key: case for case in _cases(second, other_watch)}
        notes = tuple(f"second run: {said}" for said in problems(second, other_watch, config, ()))
    removed = _removed(run, cases, config)
    verdicts = []
    for case in (each for each in cases if each.series not in removed):
        other = others.get(case.series.key)
        found, waiver = _settled(case, other, config, waivers, confirming=second is not None)
        told = confirmation(case, other, by_tail=found.by_tail)
        verdicts.append(_series(case, found, told, waiver))
    gone = (ruled(series, config) for series in run.plan.gone)
    verdicts += [gone_verdict(series) for series in gone if series not in removed]
    if verdicts:  # how long the builds take is no pass alone
        verdicts += of_run(run, config, second, waivers)
    names = tuple(named(series) for series in removed)
    notes = (*problems(run, watch, config, names), *notes)
    if run.plan.purpose == "calibrate":
        notes = ("this run calibrates: one revision was measured against itself", *notes)
    if waivers is not None:
        notes = (*notes, *remarks(waivers, verdicts))
    return _verdict(run, config, verdicts, notes)


def _settled(
    case: Case,
    other: Case | None,
    config: GateConfig,
    waivers: Waivers | None,
    *,
    confirming: bool,
) -> tuple[Outcome, Waived | None]:
    """The outcome that counts, of the P50's and the slowest iterations': what blocks comes first.

    What a waiver accepts needs no second run.
    """
    settled = []
    for each in outcomes(case):
        found = confirmed(each, case, other) if confirming else each
        found, waiver = waived(found, case, waivers)
        if config.confirm and not confirming:
            found = unconfirmed(found)
        settled.append((found, waiver))
    return min(settled, key=lambda one: _weight(one[0], case.series, config))


def _weight(found: Outcome, series: Series, config: GateConfig) -> tuple[bool, int]:
    harmless = not may_block(found.outcome, series, config, by_tail=found.by_tail)
    return harmless, SEVERITY.index(found.outcome)


def _removed(run: Run, cases: list[Case], config: GateConfig) -> list[Series]:
    """Series that head does not have, and that the configuration declares removed."""
    absent = [case.series for case in cases if not case.has("head")]
    gone = [ruled(series, config) for series in run.plan.gone]
    return [series for series in (*absent, *gone) if declared_removed(series, config.removed)]


def _watched(run: Run, config: GateConfig) -> Watch:
    watch = Watch(run.plan, config)
    for block in blocks(sorted(run.launches, key=lambda launch: launch.number)):
        watch.add(block)
    return watch


def _cases(run: Run, watch: Watch) -> list[Case]:
    aggregates = aggregates_of(run)
    incomparable = {name: _incomparable(run, name) for name in watch.tallies}
    return [
        Case(
            run,
            trial,
            watch.tallies.get(trial.series.workload, Tally()),
            incomparable[trial.series.workload],
            aggregates.get(trial.series.key, ""),
        )
        for trial in watch.trials
    ]


def _incomparable(run: Run, workload: str) -> str:
    """Why a workload's two sides cannot be compared; empty when they can."""
    base, head = (run.arm(side, workload).environment for side in SIDES)
    hard = [d for d in base.diff(head) if d.hard]
    return "; ".join(f"{d.what} was {d.base} for base and {d.head} for head" for d in hard)


def _verdict(
    run: Run, config: GateConfig, verdicts: list[SeriesVerdict], notes: tuple[str, ...]
) -> Verdict:
    found, rows = run_outcome(verdicts, config), sorted(verdicts, key=_worst_first)
    planned = len(run.plan.family) + len(run.plan.gone)
    return Verdict(
        run=run.id,
        outcome=found,
        reason=headline(rows, found, config, planned=planned),
        alpha=config.family_alpha,
        family_size=family_size(run.plan),
        interval_method=INTERVAL_METHOD,
        series=tuple(rows),
        problems=(*notes, *renames(run.plan, rows)),
        judged_by_itself=judged_by_itself(run),
        devices=rank_figures(run, config.void),
        order=run.plan.order,
    )


def _series(
    case: Case, found: Outcome, second: Confirmation | None, waiver: Waived | None
) -> SeriesVerdict:
    series, trial = case.series, case.trial
    return SeriesVerdict(
        series=series.series,
        metric=series.metric,
        workload=series.workload,
        unit=series.unit,
        better=series.better,
        outcome=found.outcome,
        base_value=middle(trial, "base"),
        head_value=middle(trial, "head"),
        threshold_pct=series.threshold_pct,
        threshold_abs=series.threshold_abs,
        evidence_needed=trial.gate.evidence_needed,
        launches=_counted(case),
        base_runs=found.base_runs,
        by_tail=found.by_tail,
        reason=found.reason,
        tail=tail_figures(case),
        confirmation=second,
        waiver=waiver,
        aggregate=case.aggregate,
        needs_confirmation=found.needs_confirmation,
        **figures(trial, found.outcome),
        **seen_figures(case),
    )


def _counted(case: Case) -> LaunchCount:
    """Launches in complete blocks; of sides measured apart, all where they make up none."""
    trial = case.trial
    alone = case.run.plan.order in APART and not trial.launches
    values = trial.seen if alone else trial.values
    return LaunchCount(base=len(values["base"]), head=len(values["head"]))


def _worst_first(verdict: SeriesVerdict) -> tuple[int, float, str, str]:
    """By severity, then by size of effect."""
    effect = abs((verdict.ratio or 1.0) - 1)
    return (SEVERITY.index(verdict.outcome), -effect, verdict.series, verdict.metric)
