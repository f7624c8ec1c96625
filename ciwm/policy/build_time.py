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
from ciwm.records import LaunchCount, SeriesVerdict, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.config import GateConfig
    from ciwm.policy.waiving import Waivers
    from ciwm.records import BuildRecord, Run

SERIES, METRIC = "build", "time"
NO_INTERVAL = "none: there is one build a side"
_WORST_FIRST = ("regressed", "inconclusive", "unchanged")


def of_builds(
    builds: Sequence[BuildRecord], config: GateConfig, waivers: Waivers | None = None
) -> Verdict | None:
    """The verdict where nothing but builds was made, base's and head's; None without limits."""
    base, head = builds
    row = _row(base, head, config)
    if row is None:
        return None
    rows = (_settled(row, config, waivers),)
    found = run_outcome(rows, config)
    return Verdict(
        run="",
        outcome=found,
        reason=headline(rows, found, config, planned=1),
        alpha=config.family_alpha,
        family_size=0,
        interval_method=NO_INTERVAL,
        series=rows,
    )


def of_run(
    run: Run, config: GateConfig, second: Run | None, waivers: Waivers | None
) -> SeriesVerdict | None:
    """The row of a run's builds; None without limits, or where head does not build at all.

    Samples of another tool come without builds, and are not asked for them.
    """
    base, head = run.base.build, run.head.build
    if run.plan.order != "seeded" and base is None and head is None:
        return None
    # two that were measured apart were not built in one job either
    row = _row(base if run.plan.order not in APART else None, head, config)
    if row is None or second is None or row.outcome != "regressed":
        return row if row is None else _settled(row, config, waivers)
    other = _row(second.base.build, second.head.build, config)
    if other is not None and other.outcome == "regressed":
        again = f"{row.reason}; confirmed by a second run: {other.reason}"
        return waived_build(row.model_copy(update={"reason": again}), waivers)
    why = other.reason if other else "its head does not build"
    doubt = f"not confirmed by the second run ({why}); the first: {row.reason}"
    return row.model_copy(update={"outcome": "inconclusive", "reason": doubt})


def _settled(row: SeriesVerdict, config: GateConfig, waivers: Waivers | None) -> SeriesVerdict:
    """With its waiver; or waiting for the second run that the configuration asks for."""
    row = waived_build(row, waivers)
    if row.outcome != "regressed" or not config.confirm:
        return row
    reason = f"needs confirmation: {row.reason}"
    doubt = {"outcome": "inconclusive", "reason": reason, "needs_confirmation": True}
    return row.model_copy(update=doubt)


def _row(
    base: BuildRecord | None, head: BuildRecord | None, gate: GateConfig
) -> SeriesVerdict | None:
    if not gate.times_builds or (head is not None and not head.ok):
        return None
    checks = [_within_limit(head, gate), _grown(base, head, gate)]
    found = [check for check in checks if check is not None]
    outcome = min((check.outcome for check in found), key=_WORST_FIRST.index)
    told = "; ".join(check.reason for check in found if check.outcome == outcome)
    before, after = _took_s(base), _took_s(head)
    return SeriesVerdict(
        series=SERIES,
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
        reason=f"{SERIES} {METRIC}: {told}",
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
