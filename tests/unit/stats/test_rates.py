from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.stats.rates import upper_limit


@given(st.integers(1, 400), st.data())
def test_the_limit_is_clopper_and_pearsons(trials: int, data: st.DataObject) -> None:
    from scipy.stats import beta

    count = data.draw(st.integers(0, trials - 1))
    expected = float(beta.ppf(0.95, count + 1, trials - count))
    assert upper_limit(count, trials) == pytest.approx(expected, rel=1e-6)


def test_none_of_299_excludes_one_percent() -> None:
    assert upper_limit(0, 299) < 0.01 < upper_limit(0, 298)  # ln 0.05 / ln 0.99 = 298.07


@pytest.mark.parametrize(("count", "trials"), [(1, 0), (-1, 4), (5, 4)])
def test_what_is_no_count_is_refused(count: int, trials: int) -> None:
    with pytest.raises(ValueError, match="no count"):
        upper_limit(count, trials)


def test_all_of_them_excludes_nothing() -> None:
    assert upper_limit(3, 3) == upper_limit(0, 0) == 1
