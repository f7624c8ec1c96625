from __future__ import annotations

from math import log
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.stats.launches import as_ratio, quantile, read_from_a_clock, worse_log

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(VALUES)
def test_the_half_quantile_is_the_median(values: list[float]) -> None:
    assert quantile(values, 0.5) == pytest.approx(median(values))


@given(VALUES, st.floats(0, 1))
def test_quantiles_are_interpolated_as_numpy_does(values: list[float], probability: float) -> None:
    import numpy as np  # noqa: PLC0415

    expected = float(np.quantile(values, probability))
    assert quantile(values, probability) == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_no_values_have_no_quantile() -> None:
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


def test_more_is_worse_where_lower_is_better_and_less_where_higher_is() -> None:
    assert worse_log(2, "lower") == log(2)
    assert worse_log(2, "higher") == -log(2)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_the_ratio_is_head_by_base_as_measured_in_either_direction(better: str) -> None:
    change = worse_log(110, better) - worse_log(100, better)
    assert as_ratio(change, better) == pytest.approx(1.1)


@pytest.mark.parametrize(
    "unit",
    [
        "s",
        "ms",
        "µs",
        "ns",
        "tokens/s",
        "req/s",
        "GFLOPS",
        "ms/step",
        "Milliseconds",
        "msec",
        "Gbps",
    ],
)
def test_times_and_rates_are_read_from_a_clock(unit: str) -> None:
    assert read_from_a_clock(unit)


@pytest.mark.parametrize("unit", ["bytes", "MiB", "count", "%", "samples", "perplexity", ""])
def test_counts_are_not_read_from_a_clock(unit: str) -> None:
    assert not read_from_a_clock(unit)
