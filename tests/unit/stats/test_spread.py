from __future__ import annotations

import random
from statistics import median, variance

import pytest

from ciwm.stats.spread import clipped_sd, within_variance


def correlated(rng: random.Random, count: int, rho: float) -> list[float]:
    values, last = [], rng.gauss(0, 1)
    for _ in range(count):
        last = rho * last + (1 - rho**2) ** 0.5 * rng.gauss(0, 1)
        values.append(last)
    return values


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_it_is_the_variance_of_medians_of_launches_that_differ_in_nothing_else(rho: float) -> None:
    rng = random.Random(2)
    launches = [correlated(rng, 400, rho) for _ in range(600)]
    expected = variance(median(values) for values in launches)
    assert within_variance(launches) == pytest.approx(expected, rel=0.15)


def test_what_differs_between_launches_does_not_count() -> None:
    rng = random.Random(3)
    launches = [correlated(rng, 200, 0.0) for _ in range(50)]
    shifted = [[value + 100 * n for value in values] for n, values in enumerate(launches)]
    assert within_variance(shifted) == pytest.approx(within_variance(launches))


def test_launches_of_a_few_iterations_tell_nothing() -> None:
    assert within_variance([[1.0], [1.0, 5.0, 9.0]]) == 0
    assert within_variance([]) == 0


def test_the_clipped_sd_is_the_sd_of_launches_without_outliers() -> None:
    rng = random.Random(4)
    arms = [[rng.gauss(0, 0.02) for _ in range(400)] for _ in "ab"]
    assert clipped_sd(*arms) == pytest.approx(0.02, rel=0.12)
    for arm in arms:
        arm[::40] = [9.0] * 10
    assert clipped_sd(*arms) == pytest.approx(0.02, rel=0.3)


def test_launches_that_mostly_agree_still_have_a_spread() -> None:
    assert clipped_sd([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 3.0]) == pytest.approx(2**0.5 / 2)
