"""What is read out of a comment's first line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.story.slash import Mistake, Rerun, Waive, wish_in


@given(st.text())
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    wish_in(text)
    assert wish_in(f"/ciwm {text}") is not None
    assert wish_in(f"x{text}") is None


@given(st.text())
def test_what_stands_below_the_first_line_changes_nothing(text: str) -> None:
    assert wish_in(f"/ciwm rerun\n{text}") == wish_in(f"/ciwm rerun\r\n{text}") == Rerun()


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("/ciwm waive a b", Waive("a", "b")),
        ("/ciwm waive decode/b=1 it  is   worth it", Waive("decode/b=1", "it is worth it")),
        ("/ciwm waive `a b` r", Waive("a b", "r")),
        ('/ciwm waive "a b" r', Waive("a b", "r")),
        ("/ciwm waive 'a b' r", Waive("a b", "r")),
        (
            "/ciwm waive x ceiling=8% metric=p99 expires=2027-01-31 issue=#4 since a=b",
            Waive(
                "x",
                "since a=b",
                {"ceiling": "8%", "metric": "p99", "expires": "2027-01-31", "issue": "#4"},
            ),
        ),
        ("/ciwm waive x since ceiling=8%", Waive("x", "since ceiling=8%")),
    ],
)
def test_a_waiver_names_series_options_and_reason(line: str, wish: Waive) -> None:
    assert wish_in(line) == wish


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/ciwm", "no command is named"),
        ("/ciwm help", "there is no command help"),
        ("/ciwm rerun now", "rerun takes nothing more"),
        ("/ciwm waive", "names a series and a reason"),
        ("/ciwm waive x", "states a reason"),
        ("/ciwm waive x ceiling=8%", "states a reason"),
        ("/ciwm waive x ceiling=8% ceiling=9% r", "ceiling is stated twice"),
        (f"/ciwm waive x {'y' * 2000}", "longer than 2,000 characters"),
    ],
)
def test_each_mistake_is_named(line: str, why: str) -> None:
    wish = wish_in(line)
    assert isinstance(wish, Mistake)
    assert why in wish.why
