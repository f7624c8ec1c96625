from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.stats.student import t_quantile


@given(st.floats(0.001, 0.999), st.integers(1, 400))
def test_the_quantile_is_that_of_scipy(probability: float, freedom: int) -> None:
    from scipy.special import stdtrit

    expected = float(stdtrit(freedom, probability))
    assert t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("probability", "freedom"), [(0, 3), (1, 3), (0.9, 0), (float("nan"), 2)])
def test_what_has_no_quantile_is_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(probability, freedom)
