"""The gate against its published targets, under nine models of noise."""

from __future__ import annotations

from statistics import median

import pytest

from tests.stats.measure import foretold, scalar, slowed, slowed_tail, unchanged
from tests.stats.noise import MODELS
from tests.stats.trials import median_trials
from tests.stats.twin import NAMES, judge

BUILD_LUCK = "layout"  # a true difference between builds, which no repetition averages out
NAMED_POWER = {"quiet": 0.99, "typical": 0.99, "drift": 0.95, "heavy": 0.94}
CALM = ("quiet", "typical", "layout", "drift", "heavy")


def most(probability: float, trials: int) -> int:
    """A count that a rate of `probability` exceeds once in forty sets of trials."""
    from scipy.stats import binom

    return int(binom.ppf(0.975, trials, probability))


def least(probability: float, trials: int) -> int:
    """A count that a rate of `probability` falls short of once in forty sets of trials."""
    return trials - most(1 - probability, trials)


@pytest.mark.parametrize("effect", [-0.08, 0, 0.03, 0.05, 0.10])
@pytest.mark.parametrize("model", ["typical", "bimodal", "heavy", "contended"])
def test_the_gate_and_its_twin_agree_on_every_trial(model: str, effect: float) -> None:
    base, head = median_trials(model, 200, effect=effect, seed=9)
    twin = judge(base, head)
    for row in range(200):
        gate = scalar(base[row].tolist(), head[row].tolist())
        assert gate.verdict == NAMES[twin.verdict[row]]
        assert len(gate.base) == twin.launches[row]
        assert gate.evidence == pytest.approx(twin.evidence[row, len(gate.base) // 2 - 1])


@pytest.mark.parametrize("model", MODELS)
def test_unchanged_runs_alarm_no_more_often_than_promised(model: str) -> None:
    check_unchanged(model, runs=100)


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_two_thousand_unchanged_runs_alarm_no_more_often_than_promised(model: str) -> None:
    check_unchanged(model, runs=2000)


def check_unchanged(model: str, runs: int) -> None:
    found = unchanged(model, runs, seed=1)
    if model == BUILD_LUCK:
        assert found.alarms <= most(0.02, runs)
    else:
        assert found.alarms <= most(0.01, runs)
        assert found.nominal_alarms <= most(0.05, found.tests)
    if model in CALM:
        assert found.launches <= 5
        assert found.passed >= 0.99


@pytest.mark.parametrize("model", MODELS)
def test_slowdowns_are_blocked_as_often_as_promised(model: str) -> None:
    check_slowed(model, trials=500)


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_four_thousand_slowdowns_are_blocked_as_often_as_promised(model: str) -> None:
    check_slowed(model, trials=4000)


def check_slowed(model: str, trials: int) -> None:
    small, large = (slowed(model, effect, trials, seed=2) for effect in (0.05, 0.10))
    assert small.passed <= most(0.03, trials)
    if model in NAMED_POWER:
        assert small.blocked >= least(NAMED_POWER[model], trials)
        assert small.launches <= 12
    if model not in {"contended", "rough"}:
        assert large.blocked >= least(0.99, trials)


@pytest.mark.parametrize(
    ("model", "effect"), [("typical", 0.03), ("bimodal", 0.05), ("coin", 0), ("contended", 0.05)]
)
def test_forecasts_of_the_launches_needed_are_right_in_the_middle(
    model: str, effect: float
) -> None:
    found = foretold(model, effect, trials=300, seed=5)
    assert 0.7 <= median(found) <= 1.4


@pytest.mark.parametrize("model", ["quiet", "typical"])
def test_a_slower_tail_is_blocked_where_iterations_suffice(model: str) -> None:
    found = slowed_tail(model, 0.20, iterations=200, trials=300, seed=3)
    assert found.blocked >= least(0.95, found.trials)


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["quiet", "typical"])
def test_a_slower_tail_is_blocked_in_two_thousand_trials(model: str) -> None:
    found = slowed_tail(model, 0.20, iterations=200, trials=2000, seed=3)
    assert found.blocked >= least(0.95, found.trials)
