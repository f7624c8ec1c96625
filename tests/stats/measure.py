"""The gate's figures under one model of noise; `python -m tests.stats.measure` prints the table."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from ciwm.stats.gate import Gate
from tests.stats.noise import MODELS
from tests.stats.trials import median_trials, tail_trials
from tests.stats.twin import PASS, REGRESS, Judged, Rule, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

RUN = 40  # series in a run
TAIL_RULE = Rule(tests=2 * RUN, threshold=0.10, noise=0.05)  # P50 and tail of each series
_FEW = 10  # cases below which a median is not worth showing
_LENGTHS = (12, 16, 24)


@dataclass(frozen=True)
class Unchanged:
    """What became of runs in which nothing had changed."""

    runs: int
    alarms: int  # runs in which any series was held to be slower
    tests: int
    nominal_alarms: int  # series whose evidence ever reached that of a single 5 % test
    passed: float
    launches: float


@dataclass(frozen=True)
class Slowed:
    """What became of series that were slower by `effect`."""

    effect: float
    trials: int
    blocked: int
    passed: int
    launches: float


def unchanged(model: str, runs: int, seed: int) -> Unchanged:
    """Judge that many runs of 40 unchanged series."""
    judged = judge(*median_trials(model, runs * RUN, seed=seed))
    alarms = (judged.verdict == REGRESS).reshape(runs, RUN).any(axis=1)
    return Unchanged(
        runs=runs,
        alarms=int(alarms.sum()),
        tests=runs * RUN,
        nominal_alarms=int((judged.evidence.max(axis=1) >= np.log(1 / 0.05)).sum()),
        passed=float((judged.verdict == PASS).mean()),
        launches=float(judged.launches.mean()),
    )


def slowed(
    model: str,
    effect: float,
    trials: int,
    seed: int,
    rule: Rule = Rule(),  # noqa: B008  frozen
) -> Slowed:
    """Judge that many series whose P50 is slower by `effect`."""
    arms = median_trials(model, trials, effect=effect, seed=seed, max_launches=rule.max_launches)
    return _slowed(effect, judge(*arms, rule))


def slowed_tail(model: str, effect: float, iterations: int, trials: int, seed: int) -> Slowed:
    """Judge that many series whose slowest 5 % alone are slower by `effect`."""
    arms = tail_trials(model, trials, effect=effect, iterations=iterations, seed=seed)
    return _slowed(effect, judge(*arms, TAIL_RULE))


def _slowed(effect: float, judged: Judged) -> Slowed:
    return Slowed(
        effect=effect,
        trials=len(judged.verdict),
        blocked=int((judged.verdict == REGRESS).sum()),
        passed=int((judged.verdict == PASS).sum()),
        launches=float(judged.launches.mean()),
    )


def foretold(model: str, effect: float, trials: int, seed: int) -> list[float]:
    """Launches that it took, over those foretold, of series undecided within the budget."""
    bases, heads = median_trials(model, trials, effect=effect, seed=seed, max_launches=128)
    found = []
    for base, head in zip(bases.tolist(), heads.tolist(), strict=True):
        gate = scalar(base[:16], head[:16])
        forecast = gate.launches_needed() if gate.verdict == "inconclusive" else None
        if forecast is not None:
            gate.max_launches = len(base)
            for start in range(16, len(base), 2):
                if gate.add(base[start : start + 2], head[start : start + 2]):
                    break
            found.append(len(gate.base) / forecast)
    return found


def scalar(base: list[float], head: list[float]) -> Gate:
    """The product's gate, fed block by block until it decides."""
    gate = Gate(tests=RUN)
    for start in range(0, len(base), 2):
        if gate.add(base[start : start + 2], head[start : start + 2]):
            break
    return gate


def table(runs: int, trials: int) -> str:
    """All figures as Markdown, a column a model."""
    rows: dict[str, list[str]] = {}
    for model in MODELS:
        for name, figure in _column(model, runs, trials):
            rows.setdefault(name, []).append(figure)
    head = ["figure", *MODELS]
    lines = [_line(head), _line(["--"] * len(head))]
    return "\n".join([*lines, *(_line([name, *cells]) for name, cells in rows.items())])


def _column(model: str, runs: int, trials: int) -> list[tuple[str, str]]:
    same = unchanged(model, runs, seed=1)
    rows = [
        (f"alarms in {runs} unchanged runs of {RUN}", f"{same.alarms}"),
        ("single test at 5 %, looking after every block", _share(same.nominal_alarms, same.tests)),
        ("unchanged: passed", f"{same.passed:.3f}"),
        ("unchanged: launches a side", f"{same.launches:.1f}"),
    ]
    for effect in (0.03, 0.05, 0.10):
        for longest in _LENGTHS if effect == 0.05 else (16,):
            found = slowed(model, effect, trials, seed=2, rule=Rule(max_launches=longest))
            name = f"+{effect:.0%}, at most {longest}"
            rows.append((f"{name}: blocked", _share(found.blocked, found.trials)))
            rows.append((f"{name}: wrongly passed", _share(found.passed, found.trials)))
            rows.append((f"{name}: launches a side", f"{found.launches:.1f}"))
    for iterations in (60, 200):
        tail = slowed_tail(model, 0.20, iterations, trials // 2, seed=3)
        name = f"tail +20 %, {iterations} iterations: blocked"
        rows.append((name, _share(tail.blocked, tail.trials)))
    for effect in (0.0, 0.05):
        shares = foretold(model, effect, trials=trials // 4, seed=5)
        name = f"{effect:+.0%}, undecided at 16: launches it took / foretold, median"
        rows.append((name, f"{median(shares):.2f}" if len(shares) >= _FEW else "–"))
    return rows


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(table(runs=2000, trials=4000) + "\n")
