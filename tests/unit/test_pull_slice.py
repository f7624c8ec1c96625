"""Slices of time for a search that lists a thousand results: halves that meet and never overlap."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from ciwm.github.pull_slice import Slice

BORN = datetime(2020, 1, 1, tzinfo=timezone.utc)
NOW = datetime(2026, 9, 14, tzinfo=timezone.utc)


def test_an_open_slice_says_nothing_and_halves_say_where_they_end() -> None:
    whole = Slice("created")
    assert whole.qualifier == ""
    halves = whole.halves(BORN, NOW)
    assert halves is not None
    assert halves[0].qualifier == "created:<2023-05-09T00:00:00Z"
    assert halves[1].qualifier == "created:>=2023-05-09T00:00:00Z"


def test_a_closed_slice_is_told_with_both_ends_included() -> None:
    part = Slice("updated", BORN, BORN + timedelta(seconds=10))
    assert part.qualifier == "updated:2020-01-01T00:00:00Z..2020-01-01T00:00:09Z"


def test_a_single_second_cannot_be_halved() -> None:
    assert Slice("created", BORN, BORN + timedelta(seconds=1)).halves(BORN, NOW) is None


def test_what_is_older_than_its_repository_is_reached_too() -> None:
    halves = Slice("created", end=BORN).halves(BORN, NOW)
    assert halves is not None
    # from 2008, when GitHub began: 4,383 days, half of which are 2,191 and a half
    middle = datetime(2013, 12, 31, 12, tzinfo=timezone.utc)
    assert halves[0].end == halves[1].start == middle


@given(st.lists(st.integers(-90_000_000, 211_000_000), max_size=60), st.integers(1, 4))
def test_halving_on_and_on_finds_each_moment_in_exactly_one_slice(
    seconds: list[int], most: int
) -> None:
    moments = [BORN + timedelta(seconds=second) for second in seconds]
    waiting, found = [Slice("created")], []
    while waiting:
        part = waiting.pop()
        inside = [one for one in moments if _holds(part, one)]
        halves = part.halves(BORN, NOW) if len(inside) > most else None
        if halves is None:
            found += inside
        else:
            waiting += halves
    assert sorted(found) == sorted(moments)


def _holds(part: Slice, moment: datetime) -> bool:
    after = part.start is None or part.start <= moment
    return after and (part.end is None or moment < part.end)
