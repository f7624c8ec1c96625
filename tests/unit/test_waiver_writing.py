"""Waivers written into a file that people write in too."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.errors import ConfigError, UsageError
from ciwm.waivers import (
    Waiver,
    as_toml,
    parse_waivers,
    waiver_of,
    with_waivers,
    without_waivers,
)

TODAY = date(2026, 9, 14)
SOURCE = "ciwm-waivers.toml"
FILE = """\
# What we live with.

# until the sampler is rewritten
[[waiver]]
series = 'decode/*'     # all of them
ceiling = "8%"
reason = "NaN checks"
author = "@jane"
issue = "https://github.com/acme/fork/issues/12"
expires = 2026-12-31

[[waiver]] # the loader
series = "load"
ceiling_abs = 12
reason = '''
[[waiver]] is not one
'''
author = "@jane"
issue = "#13"
expires = 2026-08-01
"""


def waiver(**changes: object) -> Waiver:
    known = {"series": "serve", "ceiling_pct": 5.0, "reason": "r", "author": "a", "issue": "#1"}
    return waiver_of(**{**known, "expires": date(2026, 10, 1), **changes})


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(TEXTS, TEXTS, st.floats(0.001, 900), st.dates(date(2000, 1, 1), date(2200, 1, 1)))
def test_what_is_written_reads_as_what_was_meant(
    series: str, reason: str, ceiling: float, expires: date
) -> None:
    one = waiver(
        series=series[:500],
        reason=reason[:500],
        ceiling_pct=None,
        ceiling_abs=ceiling,
        expires=expires,
    )
    assert parse_waivers(as_toml(one).encode(), SOURCE) == (one,)
    assert all(line.isprintable() for line in as_toml(one).splitlines())


def test_a_waiver_is_added_below_everything_that_was_there() -> None:
    simple = FILE.partition("\n[[waiver]] # the loader")[0]
    longer = with_waivers(simple, [waiver()], SOURCE, TODAY)
    assert longer.startswith(simple)
    assert [one.series for one in parse_waivers(longer.encode(), SOURCE)] == ["decode/*", "serve"]


def test_a_file_that_ends_without_a_line_end_takes_one() -> None:
    text = as_toml(waiver(series="first")).rstrip("\n")
    longer = with_waivers(text, [waiver()], SOURCE, TODAY)
    assert [one.series for one in parse_waivers(longer.encode(), SOURCE)] == ["first", "serve"]


def test_a_second_waiver_for_the_same_is_refused_while_the_first_counts() -> None:
    text = as_toml(waiver())
    with pytest.raises(UsageError, match=r"has a waiver of .serve. .*already, until 2026-10-01"):
        with_waivers(text, [waiver(ceiling_pct=9.0)], SOURCE, TODAY)
    later = with_waivers(text, [waiver(expires=date(2027, 1, 1))], SOURCE, date(2026, 10, 2))
    assert len(parse_waivers(later.encode(), SOURCE)) == 2


def test_a_file_that_is_wrong_already_is_left_alone() -> None:
    with pytest.raises(ConfigError, match="is not TOML"):
        with_waivers("[[waiver", [waiver()], SOURCE, TODAY)


def test_waivers_in_an_inline_list_are_not_added_to() -> None:
    inline = 'waiver = [{series = "a", ceiling = "1%", reason = "r", author = "a", issue = "i", '
    inline += "expires = 2026-10-01}]\n"
    with pytest.raises(ConfigError, match="is not TOML"):
        with_waivers(inline, [waiver()], SOURCE, TODAY)
    with pytest.raises(UsageError, match="not every waiver is a"):
        without_waivers(inline, parse_waivers(inline.encode(), SOURCE), SOURCE)


def test_a_waiver_goes_with_its_comment_and_nothing_else_does() -> None:
    text = FILE.replace("[[waiver]] is not one", "nor is this")
    first, second = parse_waivers(text.encode(), SOURCE)
    kept = without_waivers(text, [first], SOURCE)
    assert kept.startswith("# What we live with.\n\n[[waiver]] # the loader\n")
    assert parse_waivers(kept.encode(), SOURCE) == (second,)
    assert without_waivers(text, [first, second], SOURCE) == "# What we live with.\n\n"


def test_a_text_that_looks_like_a_table_is_not_cut_in_two() -> None:
    first, _ = parse_waivers(FILE.encode(), SOURCE)
    with pytest.raises(UsageError, match=r"edit it by hand|not every waiver"):
        without_waivers(FILE.replace(" is not one", ""), [first], SOURCE)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"reason": ""}, "reason: String should have at least 1 character"),
        ({"issue": None}, "issue: Field required"),
        ({"ceiling_pct": None}, "state one of ceiling and ceiling_abs"),
        ({"ceiling_pct": None, "ceiling": "much"}, 'ceiling is a percentage such as "3%"'),
        ({"ceiling_abs": 3.0}, "state one of ceiling and ceiling_abs"),
        ({"expires": "soon"}, "expires: Input should be a valid date"),
    ],
)
def test_each_mistake_is_one_line(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        waiver(**changes)
    assert said in caught.value.message
