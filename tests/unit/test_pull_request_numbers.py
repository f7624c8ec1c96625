"""Which pull request a commit message says it came from."""

from __future__ import annotations

import pytest

from ciwm.upstream.culprits import pull_request


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("[Core] Faster scheduling (#25252)", 25252),
        ('Revert "[Core] Faster (#25252)" (#25300)\n\nThis reverts (#1)', 25300),
        ("Merge pull request #77 from team/branch\n\nTitle", 77),
        ("Fix\n\nPull Request resolved: https://github.com/pytorch/pytorch/pull/160000\n", 160000),
        ("Fix #12 for good", None),
        ("Fix\n\n* part (#3)", None),
        ("", None),
    ],
)
def test_the_number_is_read_where_forges_and_bots_put_it(message: str, number: int | None) -> None:
    assert pull_request(message) == number
