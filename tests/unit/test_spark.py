"""Trends: their points by hand, and their bars."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.policy.trend import trends
from ciwm.report.bump_markdown import comment_markdown
from ciwm.report.spark import BARS, bars
from tests.records_examples import bump, series_verdict, verdict
from tests.runs import RunBuilder, series


def test_a_point_is_the_median_of_the_launches_medians_at_head() -> None:
    one = RunBuilder(family=[series("decode-8b")]).block(
        0,
        {"base": [[9.0], [9.0]], "head": [[1.0, 2.0, 30.0], [4.0, 5.0, 6.0]]},
        workload="decode-8b",
    )
    first = one.run()
    later = first.model_copy(update={"id": "r2", "started_at": first.started_at.replace(day=9)})
    row = series_verdict("regressed", series="decode-8b")
    (found,) = trends([later, first], [row, series_verdict("new", series="other")])
    assert [point.value for point in found.points] == [3.5, 3.5]  # of 2 and 5
    assert found.points[0].at < found.points[1].at
    assert trends([first], [row]) == ()


def row(head: float, threshold_pct: float = 3.0) -> object:
    return series_verdict("regressed", head_value=head, threshold_pct=threshold_pct)


@pytest.mark.parametrize(
    ("before", "head", "drawn"),
    [
        ((1.0, 1.0, 2.0), 2.0, "▁▁█ █"),
        ((1.0, 1.5, 2.0), 3.0, "▁▃▅ █"),
        ((100.0, 101.0, 99.0), 100.0, "▅▆▃ ▅"),  # within the threshold: a plain
        ((0.0, 0.0), 0.0, "▅▅ ▅"),
        ((), 1.0, ""),
    ],
)
def test_bars_stand_for_the_values(before: tuple[float, ...], head: float, drawn: str) -> None:
    assert bars(row(head), before) == drawn  # type: ignore[arg-type]


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE, min_size=1, max_size=12), FINITE)
def test_every_value_has_a_bar(before: list[float], head: float) -> None:
    drawn = bars(row(head), tuple(before))  # type: ignore[arg-type]
    assert len(drawn) == len(before) + 2
    assert set(drawn) <= {*BARS, " "}


def test_without_a_history_no_bar_and_no_word_of_it() -> None:
    text = comment_markdown(bump(verdict=verdict("regressed")))
    assert not set(text) & set(BARS)
    assert "Bars:" not in text
