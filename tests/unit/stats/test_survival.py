"""Cumulative incidence: against a published example, other programs, algebra and simulation."""

from __future__ import annotations

import math
import random
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.stats.survival import Ending, Estimate, Incidence, Observed, incidence

ENDINGS: tuple[Ending, ...] = ("waiting", "event", "other")
Rows = list[tuple[float, int]]


def curve(rows: Rows, event: int = 1) -> Incidence:
    """Rows of (time, 0 waiting or the kind of ending)."""
    return incidence(
        Observed(time, "waiting" if kind == 0 else "event" if kind == event else "other")
        for time, kind in rows
    )


rows_of_any_kind = st.lists(
    st.tuples(st.integers(0, 30).map(float), st.integers(0, 2)), min_size=1, max_size=40
)

# Example of statsmodels' documentation of CumIncidenceRight: shares from R's cmprsk::cuminc,
# standard errors from Stata's stcompet (cmprsk has another formula, Aalen's of 1978).
PUBLISHED: Rows = list(
    zip(
        (1, 1, 2, 4, 4, 4, 6, 6, 7, 8, 9, 9, 9, 1, 2, 2, 4, 4),
        (1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        strict=True,
    )
)


@pytest.mark.parametrize(
    ("event", "time", "share", "error"),
    [
        (1, 1, 0.11111111, 0.07407407),
        (1, 2, 0.17037037, 0.08976251),
        (1, 9, 0.17037037, 0.08976251),
        (2, 2, 0, 0),
        (2, 4, 0.20740741, 0.10610391),
        (3, 6, 0.17777778, 0.11196147),
        (3, 7, 0.26666667, 0.12787781),
    ],
)
def test_the_published_example_of_three_causes_is_met(
    event: int, time: float, share: float, error: float
) -> None:
    found = curve(PUBLISHED, event).at(time)
    assert found.value == pytest.approx(share, abs=1e-8)
    assert found.standard_error == pytest.approx(error, abs=1e-8)


# lifelines 0.30.3: AalenJohansenFitter(jitter_level=0, alpha=0.05)
LIFELINES: Rows = [
    *((10.6, 1), (17.0, 1), (27.4, 1), (12.7, 2), (1.3, 1), (5.1, 1), (8.5, 1), (11.8, 1)),
    *((1.9, 1), (15.8, 1), (18.9, 1), (8.1, 2), (11.8, 0), (8.3, 1), (8.6, 1), (1.4, 0)),
    *((9.7, 1), (0.3, 1), (12.8, 1), (15.3, 1), (3.4, 1), (9.0, 1), (10.7, 1), (23.3, 2)),
    *((12.8, 1), (2.9, 1), (8.2, 1), (0.5, 1), (6.6, 2), (38.1, 1), (19.3, 1), (1.4, 1)),
    *((1.6, 1), (1.5, 1), (15.9, 1), (15.2, 1), (6.3, 1), (4.3, 0), (9.9, 0), (13.8, 2)),
]


@pytest.mark.parametrize(
    ("time", "share", "variance", "low", "high"),
    [
        (7, 0.2817733990147783, 0.005206964211151443, 0.1521978877768278, 0.42645794307637946),
        (30, 0.8264602392681214, 0.0041128011243694584, 0.6548702412453596, 0.9177582906817345),
    ],
)
def test_shares_variances_and_intervals_are_those_of_lifelines(
    time: float, share: float, variance: float, low: float, high: float
) -> None:
    found = curve(LIFELINES).at(time)
    assert found[:4] == pytest.approx((share, math.sqrt(variance), low, high), rel=1e-9)


def test_a_table_worked_by_hand() -> None:
    # ten pull requests; merged at 2 and 5, closed at 3, one waits since 4, the others since 10
    found = curve([(2, 1), (3, 2), (4, 0), (5, 1), *[(10, 0)] * 6])
    # 1/10 at day 2; then 9 and 8 of ten left, 7 at risk on day 5: 8/10 * 1/7
    assert found.at(1.9).value == 0
    assert found.at(2).value == pytest.approx(1 / 10)
    assert found.at(5).value == pytest.approx(1 / 10 + 8 / 70)
    assert (found.at(5).n, found.at(5).at_risk) == (10, 6)
    assert found.at(10).value == found.at(5).value


@given(rows_of_any_kind.map(lambda rows: [(t, kind or 1) for t, kind in rows]), st.integers(0, 30))
def test_without_censoring_it_is_the_plain_share_with_the_binomial_error(
    rows: Rows, time: int
) -> None:
    found = curve(rows).at(time)
    share = sum(kind == 1 and t <= time for t, kind in rows) / len(rows)
    assert found.value == pytest.approx(share)
    assert found.standard_error == pytest.approx(math.sqrt(share * (1 - share) / len(rows)))


@given(rows_of_any_kind.map(lambda rows: [(t, min(kind, 1)) for t, kind in rows]))
def test_without_a_competing_risk_it_is_one_minus_kaplan_meier_as_scipy_has_it(rows: Rows) -> None:
    from scipy.stats import CensoredData, ecdf

    ended, open_ = [t for t, kind in rows if kind], [t for t, kind in rows if not kind]
    survival: Any = ecdf(CensoredData(uncensored=ended, right=open_)).sf
    found = curve(rows)
    for time in sorted(set(ended)):
        at = found.at(time)
        assert at.value == pytest.approx(1 - float(survival.evaluate(time)), abs=1e-12)


def product_integral(rows: Rows, time: float) -> tuple[float, float]:
    """Share and variance from the matrix form, by recursion over the moments of ending.

    Andersen, Borgan, Gill and Keiding, Statistical Models Based on Counting Processes, 1993,
    section IV.4.1.3: states waiting, event, other; the covariance of the vec of the matrix.
    """
    moments = sorted({t for t, kind in rows if kind and t <= time})
    matrix, covariance = np.eye(3), np.zeros((9, 9))
    for moment in moments:
        n = sum(t >= moment for t, _ in rows)
        rates = np.array([sum((t, kind) == (moment, k) for t, kind in rows) / n for k in (1, 2)])
        step = np.eye(3)
        step[0] = [1 - rates.sum(), *rates]
        jump = np.zeros((9, 9))  # covariance of the row (-sum, rate 1, rate 2) of `step`
        spread = (np.diag(rates) - np.outer(rates, rates)) / n
        change = np.vstack([-np.ones(2), np.eye(2)])
        places = [0, 3, 6]  # column-major: row 0 of columns 0, 1, 2
        jump[np.ix_(places, places)] = change @ spread @ change.T
        through, before = np.kron(step.T, np.eye(3)), np.kron(np.eye(3), matrix)
        covariance = through @ covariance @ through.T + before @ jump @ before.T
        matrix = matrix @ step
    return float(matrix[0, 1]), float(covariance[3, 3])


@given(rows_of_any_kind, st.integers(0, 30))
def test_share_and_error_are_those_of_the_matrix_form(rows: Rows, time: int) -> None:
    found = curve(rows).at(time)
    if found.value is None or found.standard_error is None:
        return
    share, variance = product_integral(rows, time)
    assert found.value == pytest.approx(share, abs=1e-12)
    assert found.standard_error**2 == pytest.approx(variance, abs=1e-12)


@given(rows_of_any_kind)
def test_all_shares_together_and_the_interval_stay_between_zero_and_one(rows: Rows) -> None:
    for time in (0, 7, 30):
        found = [curve(rows, event).at(time) for event in (1, 2)]
        shares = [one.value for one in found if one.value is not None]
        assert sum(shares) <= 1 + 1e-9
        for one in found:
            if one.value is not None and one.low is not None and one.high is not None:
                assert 0 <= one.low <= one.value + 1e-9
                assert one.value - 1e-9 <= one.high <= 1


def test_a_day_nobody_was_watched_to_is_not_known_while_some_wait() -> None:
    assert curve([(3, 1), (20, 0)]).at(30) == Estimate(None, None, None, None, 2, 0)
    assert curve([]).at(7) == Estimate(None, None, None, None, 0, 0)


def test_a_day_after_everything_ended_has_the_final_share() -> None:
    assert curve([(3, 1), (5, 2)]).at(90).value == pytest.approx(0.5)


def test_no_event_yet_has_the_exact_upper_bound_of_those_whose_state_is_known() -> None:
    # 3 of the 5 were watched for 30 days: 1 - 0.025 ** (1/3)
    found = curve([(40, 0), (35, 0), (30, 0), (12, 0), (1, 0)]).at(30)
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 3))


def test_all_merged_has_the_exact_lower_bound() -> None:
    found = curve([(1, 1), (2, 1), (3, 1), (4, 1)]).at(7)
    assert found.value == pytest.approx(1)
    assert found.low == pytest.approx(0.025 ** (1 / 4))
    assert found.high == 1


def test_the_median_is_the_first_time_half_have_had_it_or_nothing() -> None:
    assert curve([(1, 1), (2, 1), (3, 2), (4, 2)]).median() == 2
    assert curve([(1, 1), (2, 2), (3, 2), (4, 2)]).median() is None
    assert curve([]).median() is None


@pytest.mark.parametrize("time", [-0.1, math.nan])
def test_a_time_before_the_start_is_refused(time: float) -> None:
    with pytest.raises(ValueError, match="before the start"):
        incidence([Observed(time, "event")])


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    # exponential times to merge (mean 20) and to closing (mean 60), watched for 5 to 90 days
    draw, time, rounds, hits = random.Random(7), 20.0, 600, 0
    rate = 1 / 20 + 1 / 60
    truth = (1 / 20) / rate * (1 - math.exp(-rate * time))
    for _ in range(rounds):
        rows: Rows = []
        for _ in range(60):
            ends = (draw.uniform(5, 90), draw.expovariate(1 / 20), draw.expovariate(1 / 60))
            rows.append((min(ends), ends.index(min(ends))))
        found = curve(rows).at(time)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth <= found.high
    tolerance = NormalDist().inv_cdf(0.999) * math.sqrt(0.95 * 0.05 / rounds)
    assert abs(hits / rounds - 0.95) < tolerance
