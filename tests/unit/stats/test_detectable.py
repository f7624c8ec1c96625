"""What a gate can detect: against the power that the calibration suite measures."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from ciwm.stats.detectable import Bench, blocked, detectable, detects, residuals
from ciwm.stats.gate import Gate


def bench(sd: float, **changes: object) -> Bench:
    rng = random.Random(5)
    arms = [[rng.gauss(0, sd) for _ in range(1000)] for _ in "ab"]
    known = Bench(40, 0.01, 16, sd, absolute=False, residuals=residuals(*arms))
    return replace(known, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(("sd", "low", "high"), [(0.015, 3.5, 5.0), (0.02, 4.5, 6.2)])
def test_it_agrees_with_the_published_budget_of_noise(sd: float, low: float, high: float) -> None:
    # of +5 %, 99.5 % are blocked at a launch sd of 1.5 % and 86 % at 2 %
    found = blocked(bench(sd), 0.03)
    assert found is not None
    assert low < 100 * found < high


def test_what_it_says_is_blocked_nine_times_in_ten_is() -> None:
    rng, sd = random.Random(11), 0.012
    size = blocked(bench(sd), 0.03)
    assert size is not None
    caught = 0
    for _ in range(400):
        gate = Gate(tests=40, noise=sd, freedom=16)
        while gate.verdict is None:
            slower = [rng.gauss(size, sd) for _ in "ab"]
            gate.add([rng.gauss(0, sd) for _ in "ab"], slower)
        caught += gate.verdict == "regress"
    assert 0.8 < caught / 400 < 0.98


def test_more_launches_or_less_noise_detect_less() -> None:
    loud = bench(0.03)
    today = detectable(loud)
    longer, quieter = detectable(loud.longer(32)), detectable(loud.quieter(0.5))
    assert today is not None
    assert longer is not None
    assert quieter is not None
    assert longer < today
    assert quieter < 0.75 * today


def test_a_threshold_is_detected_from_the_detectable_one_on() -> None:
    loud = bench(0.02)
    found = detectable(loud)
    assert found is not None
    assert detects(loud, 1.3 * found)
    assert not detects(loud, 0.7 * found)


def test_a_budget_too_small_to_prove_anything_detects_nothing() -> None:
    assert detectable(bench(0.001, max_launches=8)) is None  # m = 40 takes 10


def test_differences_scale_with_their_unit() -> None:
    one = bench(0.01, absolute=True)
    other = replace(one.quieter(1000), absolute=True)
    first, second = detectable(one), detectable(other)
    assert first is not None
    assert second == pytest.approx(1000 * first)


def test_residuals_have_the_spread_of_the_launches() -> None:
    rng = random.Random(1)
    arms = [[rng.gauss(7, 0.5) for _ in range(400)] for _ in "ab"]
    spread = [x for block in residuals(*arms) for x in block]
    assert (sum(x * x for x in spread) / len(spread)) ** 0.5 == pytest.approx(0.5, rel=0.05)
