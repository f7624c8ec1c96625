"""Which versions of a file need not be parsed to know that a definition is the same."""

from __future__ import annotations

import pytest

from ciwm.upstream.drift.regions import region

SOURCE = b"import os\nclass A:\n    def go(self,\n           x):\n        return x\n\n    y = 1\n"


@pytest.mark.parametrize(
    ("new", "same"),
    [
        (SOURCE.replace(b"y = 1", b"y = 2"), True),
        (b"# a comment\n\n" + SOURCE, True),
        (SOURCE.replace(b"return x", b"return -x"), False),
        (SOURCE.replace(b"           x", b"           x, z"), False),
        (SOURCE.replace(b"class A", b"class B"), False),
        (SOURCE.replace(b"def go", b"def going"), False),
        (SOURCE + b"    go = other\n", False),
    ],
)
def test_only_lines_that_can_matter_count(new: bytes, *, same: bool) -> None:
    assert (region(SOURCE, "go") == region(new, "go")) is same


def test_a_name_that_occurs_nowhere_is_the_same_everywhere() -> None:
    assert region(SOURCE, "stop") == region(b"", "stop")
