"""The gate audits itself: how often it cried wolf where nothing had changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.stats.rates import upper_limit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.records import Calibration

JUDGED = ("regressed", "improved", "unchanged", "inconclusive")


class Audit(NamedTuple):
    """Kept runs of one revision against itself, and the false alarms among them.

    `promised` is the largest alpha that any of them was judged by: of runs, not of comparisons.
    """

    runs: int
    alarming_runs: int
    comparisons: int
    alarms: int
    promised: float

    def words(self) -> str:
        """One sentence."""
        if not self.runs:
            return "no revision was measured against itself yet: the false-alarm rate is unaudited"
        worst = upper_limit(self.alarming_runs, self.runs)
        said = (
            f"the gate audits itself: {_count(self.comparisons, 'A/A comparison')} in "
            f"{_count(self.runs, 'run')}, {_count(self.alarms, 'false alarm')}; at most "
            f"{100 * worst:.2g} % of runs alarm (95 % confidence), {100 * self.promised:g} % is "
            "the promise"
        )
        least = upper_limit(0, self.runs)
        if self.alarming_runs == 0 and least > self.promised:
            return f"{said}, which takes {_runs_needed(self.promised)} runs to confirm"
        return said


def audit(calibrations: Iterable[Calibration]) -> Audit:
    """What the kept calibrations say of the gate; series that could not be judged do not count."""
    runs = alarming = comparisons = alarms = 0
    promised = 0.0
    for calibration in calibrations:
        judged = [one for one in calibration.series if one.outcome in JUDGED]
        false = sum(one.alarm for one in judged)
        runs += bool(judged)
        alarming += bool(false)
        comparisons += len(judged)
        alarms += false
        promised = max(promised, calibration.alpha)
    return Audit(runs, alarming, comparisons, alarms, promised)


def _runs_needed(rate: float) -> int:
    """Quiet runs after which a higher rate is excluded."""
    runs = 1
    while upper_limit(0, runs) > rate:
        runs *= 2
    low = runs // 2
    while runs - low > 1:
        middle = (low + runs) // 2
        low, runs = (middle, runs) if upper_limit(0, middle) > rate else (low, middle)
    return runs


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
