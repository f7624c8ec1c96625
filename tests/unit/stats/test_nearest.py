"""Figures told from the nearest cases, by hand and by scipy."""

from __future__ import annotations

import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.stats.nearest import brier, chance, nearest, neighbours, percentiles, spread


def test_sizes_are_near_by_ratio_not_by_difference() -> None:
    # from 40: 80 is twice, 25 is 1.6 times, 10 is nearly four times
    assert nearest([80, 25, 10], 40, 2) == [1, 0]


def test_of_equally_near_cases_the_earlier_ones_are_taken() -> None:
    assert nearest([7, 7, 7, 7], 7, 2) == [0, 1]


def test_a_size_of_nothing_can_be_near_too() -> None:
    assert nearest([0, 1, 100], 0, 1) == [0]


@pytest.mark.parametrize(
    ("cases", "asked"), [(1, 1), (9, 9), (10, 10), (30, 10), (97, 29), (900, 40)]
)
def test_three_cases_in_ten_are_asked_within_bounds(cases: int, asked: int) -> None:
    assert neighbours(cases) == asked


@pytest.mark.parametrize(("successes", "cases"), [(0, 10), (3, 10), (10, 10), (83, 97)])
def test_the_interval_of_a_chance_is_wilsons(successes: int, cases: int) -> None:
    from scipy.stats import binomtest

    found = chance(successes, cases, 0.8)
    wilson = binomtest(successes, cases).proportion_ci(0.8, method="wilson")
    assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high), abs=1e-9)


def test_a_chance_is_never_quite_certain() -> None:
    # by Jeffreys' prior, half a success in one case more
    assert chance(10, 10, 0.8).value == pytest.approx(10.5 / 11)
    assert chance(0, 10, 0.8).value == pytest.approx(0.5 / 11)


@given(st.integers(1, 200), st.data())
def test_a_chance_lies_in_its_interval(cases: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, cases))
    found = chance(successes, cases, 0.8)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_spread_takes_the_order_statistics_of_the_next_value() -> None:
    # 19 values leave 20 gaps for the next one; a tenth of them lies below the second value
    assert spread(list(range(1, 20)), 0.8) == (10, 2, 18)


def test_with_few_values_a_spread_is_all_that_was_seen() -> None:
    assert spread([5, 1, 3], 0.8) == (3, 1, 5)


def test_the_next_value_falls_into_a_spread_as_often_as_said() -> None:
    draw = random.Random(5)
    held = []
    for _ in range(4000):
        *seen, following = (draw.lognormvariate(3, 2) for _ in range(30))
        found = spread(seen, 0.8)
        held.append(found.low <= following <= found.high)
    # from the 3rd of 29 values to the 27th are 24 of the 30 gaps the next one can fall into
    assert fmean(held) == pytest.approx(24 / 30, abs=0.02)


def test_nothing_has_neither_a_chance_nor_a_spread() -> None:
    with pytest.raises(ValueError, match="without a case"):
        chance(0, 0, 0.8)
    with pytest.raises(ValueError, match="nothing"):
        spread([], 0.8)


def test_the_brier_score_is_the_mean_square_of_the_errors() -> None:
    assert brier([0.8, 0.5, 0.0], [True, False, False]) == pytest.approx((0.04 + 0.25) / 3)


def test_percentiles_are_the_ends_of_the_middle_part() -> None:
    assert percentiles(list(range(101)), 0.8) == (10, 90)
