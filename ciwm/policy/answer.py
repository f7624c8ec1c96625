"""From series to the run's outcome, the exit code, and what the check says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from ciwm.errors import INCONCLUSIVE, NO, OK, VOID
from ciwm.records import SEVERITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.config import BlockOn, GateConfig
    from ciwm.records import Series, SeriesVerdict, Verdict
    from ciwm.records.verdict import RunOutcome, SeriesOutcome

_BLOCKED_BY: dict[SeriesOutcome, BlockOn] = {
    "failed": "failed",
    "missing": "missing",
    "regressed": "regression",
}
_COUNTED: tuple[SeriesOutcome, ...] = ("improved", "new", "waived")


def run_outcome(series: Sequence[SeriesVerdict], config: GateConfig) -> RunOutcome:
    """The worst of the series; a run without any is a failure, never a pass."""
    found = {verdict.outcome for verdict in series}
    if not found or any(_blocks(verdict, config) for verdict in series):
        return "fail"
    if "void" in found:
        return "void"
    return "inconclusive" if "inconclusive" in found else "pass"


def exit_code(verdict: Verdict, config: GateConfig) -> int:
    """0 yes, 1 no, 3 inconclusive and 5 void where the configuration says that they fail.

    A void series does not hide an inconclusive one that is told to fail.
    """
    found = {verdict.outcome, *(series.outcome for series in verdict.series)}
    if verdict.outcome == "fail":
        return NO
    if "void" in found and config.on_void == "fail":
        return VOID
    if "inconclusive" in found and config.on_inconclusive == "fail":
        return INCONCLUSIVE
    return OK


def conclusion(verdict: Verdict) -> Literal["success", "failure", "neutral"]:
    """What the check says: neutral for doubt, and where there was nothing to compare with.

    Neutral too where a benchmark that counts was edited by the change it judges.
    """
    if verdict.outcome == "fail":
        return "failure"
    if verdict.outcome != "pass":
        return "neutral"
    tolerated = any(each.outcome in (*_BLOCKED_BY, "waived") for each in verdict.series)
    own = any(each.workload in verdict.judged_by_itself for each in verdict.series)
    alone = any(not each.base_runs for each in verdict.series)
    return "neutral" if tolerated or own or alone else "success"


def headline(
    series: Sequence[SeriesVerdict], outcome: RunOutcome, config: GateConfig, planned: int
) -> str:
    """The run in one sentence; `series` come worst first."""
    if not series:
        why = "every planned series is declared removed" if planned else "no series was planned"
        return f"{why}: nothing was measured, and nothing measured is no pass"
    counts = Counter(verdict.outcome for verdict in series)
    if outcome == "pass":
        return _passed(len(series), counts)
    worst = next(verdict for verdict in series if _decides(verdict, outcome, config))
    tally = ", ".join(f"{counts[name]} {name}" for name in SEVERITY if counts[name])
    return f"{tally}, of {_count(len(series))}; {worst.reason}"


def _passed(total: int, counts: Counter[SeriesOutcome]) -> str:
    others = ", ".join(f"{counts[name]} {name}" for name in _COUNTED if counts[name])
    tolerated = ", ".join(f"{counts[name]} {name}" for name in _BLOCKED_BY if counts[name])
    if tolerated:
        return f"{_count(total)}: {tolerated}, which the configuration does not let block"
    but = " but what is waived" if counts["waived"] else ""
    aside = f" ({others})" if others else ""
    return f"{_count(total)}, none{but} worse by its threshold{aside}"


def _decides(verdict: SeriesVerdict, run: RunOutcome, config: GateConfig) -> bool:
    return _blocks(verdict, config) if run == "fail" else verdict.outcome == run


def _blocks(verdict: SeriesVerdict, config: GateConfig) -> bool:
    if verdict.of_build:
        return verdict.outcome in _BLOCKED_BY and "build_time" in config.block_on
    return may_block(verdict.outcome, verdict, config, by_tail=verdict.by_tail)


def may_block(
    outcome: SeriesOutcome, series: Series | SeriesVerdict, config: GateConfig, *, by_tail: bool
) -> bool:
    """Whether a series' outcome blocks, by the rule that matches it or by the gate's own list."""
    if outcome not in _BLOCKED_BY:
        return False
    rule = config.rule_for(series.series, series.metric, series.workload)
    stated = None if rule is None else rule.block_on
    what = "tail" if by_tail else _BLOCKED_BY[outcome]
    return what in (config.block_on if stated is None else stated)


def _count(total: int) -> str:
    return "1 series" if total == 1 else f"{total} series"
