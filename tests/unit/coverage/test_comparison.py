"""The delta and the uncovered changed lines, against counts made by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ciwm.coverage import compared
from ciwm.records.coverage import UncoveredLines

FILES = {"base": ("b.json",), "head": ("h.json",)}


def test_totals_and_changed_lines_are_counted_apart() -> None:
    base = {"src/a.py": dict.fromkeys(range(1, 11), True)}
    head = {
        "/build/src/a.py": {**dict.fromkeys(range(1, 11), True), 11: False, 12: False, 15: False},
        "/build/src/b.py": {1: True, 2: False},
    }
    changed = {"src/a.py": {10, 11, 12, 13, 15}, "src/b.py": {2}, "README.md": {1, 2}}
    found = compared(base, head, changed, tracked=("src/a.py", "src/b.py"), files=FILES)
    assert found.base is not None
    assert found.head is not None
    assert (found.base.lines, found.base.covered, found.base.pct) == (10, 10, 100.0)
    assert (found.head.lines, found.head.covered) == (15, 11)
    assert (found.changed, found.changed_covered) == (5, 1)  # 13 is no line that runs
    assert found.uncovered == (
        UncoveredLines(path="src/a.py", ranges=((11, 12), (15, 15))),
        UncoveredLines(path="src/b.py", ranges=((2, 2),)),
    )


def test_a_name_that_may_be_two_files_is_neither() -> None:
    tracked = ("one/ops.py", "two/ops.py", "deep/two/ops.py")
    changed = {path: {1} for path in tracked}
    lines = {1: False}
    for written, meant in (
        ("ops.py", None),
        ("one/ops.py", "one/ops.py"),
        ("/b/deep/two/ops.py", "deep/two/ops.py"),
        ("/b/two/ops.py", "two/ops.py"),
        ("C:\\b\\one\\ops.py", "one/ops.py"),
        ("./one/ops.py", "one/ops.py"),
        ("/b/xone/ops.py", None),
    ):
        found = compared(None, {written: lines}, changed, tracked=tracked, files=FILES)
        assert [one.path for one in found.uncovered] == ([meant] if meant else []), written


@given(st.sets(st.integers(1, 60)))
def test_ranges_hold_every_line_once(lines: set[int]) -> None:
    head = {"a": dict.fromkeys(lines, False)}
    found = compared(None, head, {"a": lines}, tracked=("a",), files=FILES)
    told = [
        line
        for one in found.uncovered
        for first, last in one.ranges
        for line in range(first, last + 1)
    ]
    assert told == sorted(lines)
    assert sum(one.count for one in found.uncovered) == len(lines)


def test_a_side_without_a_file_is_unknown_and_not_zero() -> None:
    found = compared(None, {"a": {1: True}}, {}, tracked=("a",), files=FILES)
    assert found.base is None
    assert found.changed == 0
