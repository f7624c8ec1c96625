"""How long the build takes, as a row of the verdict beside the series: by limits, not by evidence.

There is one build a side, which proves nothing in the gate's sense; so the limits are the user's,
and what was not really built in this job is unknown, which is doubt and never a pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.policy.answer import headline, run_outcome
from ciwm.policy.blocks import APART
from ciwm.policy.outcomes import Outcome
from ciwm.policy.waiving import waived_build
from ciwm.records import SEVERITY, LaunchCount, SeriesVerdict, Verdict
from ciwm.records.labels import labelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ciwm.config import GateConfig
    from ciwm.policy.waiving import Waivers
    from ciwm.records import Arm, BuildRecord, Run

SERIES, METRIC = "build", "time"
NO_INTERVAL = "none: there is one build a side"
_WORST_FIRST = ("regressed", "inconclusive", "unchanged")


def of_builds(
    builds: Sequence[BuildRecord], config: GateConfig, waivers: Waivers | None = None
) -> Verdict | None:
    """The verdict where nothing but builds was made, base's and head's; None without limits."""
    return of_all_builds([("", builds)], config, waivers)


def of_all_builds(
    pairs: Iterable[tuple[str, Sequence[BuildRecord]]],
    config: GateConfig,
    waivers: Waivers | None = None,
) -> Verdict | None:
    """As of_builds, of the shards of a matrix by their labels; None where none is judged."""
    found = (_row(base, head, config, label) for label, (base, head) in pairs)
    rows = _worst([_settled(row, config, waivers) for row in found if row is not None])
    if not rows:
        return None
    outcome = run_outcome(rows, config)
    return Verdict(
        run="",
        outcome=outcome,
        reason=headline(rows, outcome, config, planned=len(rows)),
        alpha=config.family_alpha,
        family_size=0,
        interval_method=NO_INTERVAL,
        series=rows,
    )


def of_run(
    run: Run, config: GateConfig, second: Run | None, waivers: Waivers | None
) -> tuple[SeriesVerdict, ...]:
    """The row of a run's builds, or of each shard's; none without limits, or of no head that built.

    Samples of another tool come without builds, and are not asked for them.
    """
    others = None if second is None else dict(_pairs(second))
    found = []
    for label, (base, head) in _pairs(run):
        row = _row(base, head, config, label)
        if row is None or others is None or row.outcome != "regressed":
            found.append(row if row is None else _settled(row, config, waivers))
        else:
            other = _row(*others.get(label, (None, None)), config, label)
            found.append(_confirmed(row, other, waivers))
    return _worst([row for row in found if row is not None])


def _pairs(run: Run) -> Iterator[tuple[str, tuple[BuildRecord | None, BuildRecord | None]]]:
    """The builds of a run, or of each of its shards; two that were built in one job."""
    arms: list[tuple[str, Arm | None, Arm | None]] = [
        (shard.label, shard.base, shard.head) for shard in run.plan.shards if not shard.missing
    ]
    for label, *both in arms or [("", run.base, run.head)]:
        base, head = (None if arm is None else arm.build for arm in both)
        if run.plan.order != "seeded" and base is None and head is None:
            continue
        # two that were measured apart were not built in one job either
        yield label, (base if run.plan.order not in APART else None, head)


def _confirmed(
    row: SeriesVerdict, other: SeriesVerdict | None, waivers: Waivers | None
) -> SeriesVerdict:
    """A regressed row with what the second run says of it."""
    if other is not None and other.outcome == "regressed":
        again = f"{row.reason}; confirmed by a second run: {other.reason}"
        return waived_build(row.model_copy(update={"reason": again}), waivers)
    why = other.reason if other else "its head does not build"
    doubt = f"not confirmed by the second run ({why}); the first: {row.reason}"
    return row.model_copy(update={"outcome": "inconclusive", "reason": doubt})


def _worst(rows: Sequence[SeriesVerdict]) -> tuple[SeriesVerdict, ...]:
    """The worst row of each label, worst first: shards without labels have one together."""
    found: dict[str, SeriesVerdict] = {}
    for row in sorted(rows, key=lambda row: SEVERITY.index(row.outcome)):
        found.setdefault(row.series, row)
    return tuple(found.values())


def _settled(row: SeriesVerdict, config: GateConfig, waivers: Waivers | None) -> SeriesVerdict:
    """With its waiver; or waiting for the second run that the configuration asks for."""
    row = waived_build(row, waivers)
    if row.outcome != "regressed" or not config.confirm:
        return row
    reason = f"needs confirmation: {row.reason}"
    doubt = {"outcome": "inconclusive", "reason": reason, "needs_confirmation": True}
    return row.model_copy(update=doubt)


def _row(
    base: BuildRecord | None, head: BuildRecord | None, gate: GateConfig, label: str
) -> SeriesVerdict | None:
    if not gate.times_builds or (head is not None and not head.ok):
        return None
    checks = [_within_limit(head, gate), _grown(base, head, gate)]
    found = [check for check in checks if check is not None]
    outcome = min((check.outcome for check in found), key=_WORST_FIRST.index)
    told = "; ".join(check.reason for check in found if check.outcome == outcome)
    before, after = _took_s(base), _took_s(head)
    series = labelled(SERIES, label)
    return SeriesVerdict(
        series=series,
        metric=METRIC,
        unit="s",
        better="lower",
        outcome=outcome,
        ratio=after / before if before and after else None,
        base_value=before,
        head_value=after,
        threshold_pct=gate.build_growth_pct or 0.0,
        value_limit=gate.build_limit_s,
        launches=LaunchCount(base=int(before is not None), head=int(after is not None)),
        reason=f"{series} {METRIC}: {told}",
        of_build=True,
    )


def _within_limit(head: BuildRecord | None, gate: GateConfig) -> Outcome | None:
    if gate.build_limit_s is None:
        return None
    after, limit = _took_s(head), f"build_limit of {_seconds(gate.build_limit_s)}"
    if after is None:
        return Outcome("inconclusive", f"{_untimed('head', head)}: its {limit} was not checked")
    over = after > gate.build_limit_s
    told = f"head's build took {_seconds(after)}, {'beyond' if over else 'within'} its {limit}"
    return Outcome("regressed" if over else "unchanged", told)


def _grown(base: BuildRecord | None, head: BuildRecord | None, gate: GateConfig) -> Outcome | None:
    if gate.build_growth_pct is None:
        return None
    before, after = _took_s(base), _took_s(head)
    limit = f"build_growth of {gate.build_growth_pct:g} %"
    if before is None or after is None:
        side = _untimed("head", head) if after is None else _untimed("base", base)
        return Outcome("inconclusive", f"{side}: their {limit} was not checked")
    longer = after - before
    over = longer > max(before * gate.build_growth_pct / 100, gate.build_growth_floor_s)
    told = (
        f"head's build took {_seconds(after)} and base's {_seconds(before)}, "
        f"{'beyond' if over else 'within'} their {limit}"
    )
    if not over and longer > before * gate.build_growth_pct / 100:
        told += f" (less than {_seconds(gate.build_growth_floor_s)} longer never counts)"
    return Outcome("regressed" if over else "unchanged", told)


def _took_s(build: BuildRecord | None) -> float | None:
    """What a build took that was really made in this job."""
    return build.duration_s if build is not None and build.status == "built" else None


def _untimed(side: str, build: BuildRecord | None) -> str:
    """Why it is not known how long a side's build takes."""
    if build is None:
        return f"{side} was not built in this job"
    if build.status == "cached":
        return f"{side} was taken from the cache, not built in this job (ciwm ci builds anew)"
    return f"{side} did not build ({build.status})"


def _seconds(value: float) -> str:
    return f"{value:,.1f} s"
