from __future__ import annotations

from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.stats.trimmed import trimmed_mean

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=5, max_size=40)


def test_four_values_are_too_few_to_trim_and_give_students_interval() -> None:
    values = [1.0, 2.0, 4.0, 9.0]
    mean, error, quantile = trimmed_mean(values, 0.95)
    assert mean == fmean(values)
    assert error == pytest.approx(stdev(values) / 2)
    assert quantile == pytest.approx(2.3534, abs=1e-4)  # a printed t table, 3 degrees of freedom


def test_an_outlier_among_ten_carries_nothing_off() -> None:
    calm = [1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99]
    assert trimmed_mean([*calm, 50.0], 0.95) == trimmed_mean([*calm, 5000.0], 0.95)


@given(VALUES)
def test_mean_and_error_are_those_of_scipys_trimmed_statistics(values: list[float]) -> None:
    import numpy as np  # noqa: PLC0415
    from scipy.stats import mstats, trim_mean

    mean, error, _ = trimmed_mean(values, 0.95)
    count, cut = len(values), int(0.2 * len(values))
    assert mean == pytest.approx(trim_mean(np.array(values), cut / count + 1e-12), abs=1e-9)
    limit = cut / count + 1e-12
    winsorised = np.asarray(mstats.winsorize(np.array(values), limits=(limit, limit)))
    kept = count - 2 * cut
    expected = np.sqrt((count - 1) * winsorised.var(ddof=1) / (kept * (kept - 1)))
    assert error == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_value_has_no_limit(values: list[float]) -> None:
    with pytest.raises(ValueError, match="needs two values"):
        trimmed_mean(values, 0.95)
