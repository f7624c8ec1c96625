"""Lines of the merge base followed through later edits, against files whose lines are named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.upstream.pulls.base_lines import Edit, FileLines


def test_a_changed_line_is_itself_and_an_insertion_stands_between_two() -> None:
    assert FileLines().apply([Edit(5, 2, 3)]) == {5, 6}
    assert FileLines().apply([Edit(5, 0, 1)]) == {5, 6}
    assert FileLines().apply([Edit(0, 0, 1)]) == {1}


def test_later_edits_are_told_in_the_numbers_of_the_base() -> None:
    lines = FileLines()
    lines.apply([Edit(2, 0, 10)])  # ten lines after line 2
    assert lines.apply([Edit(15, 1, 1)]) == {5}
    lines.apply([Edit(1, 2, 0)])  # lines 1 and 2 go
    assert lines.apply([Edit(12, 1, 1)]) == {4}


def test_what_upstream_added_itself_is_no_line_of_the_base() -> None:
    lines = FileLines()
    lines.apply([Edit(3, 0, 4)])
    assert lines.apply([Edit(5, 2, 1)]) == set()
    assert lines.apply([Edit(5, 0, 1)]) == {3, 4}, "an insertion has the nearest neighbours"


def test_two_sides_that_append_meet_at_the_end() -> None:
    # a file of nine lines
    assert FileLines().apply([Edit(9, 0, 2)]) & FileLines().apply([Edit(9, 0, 5)]) == {9, 10}


def test_edits_of_one_commit_are_all_in_the_numbers_before_it() -> None:
    assert FileLines().apply([Edit(2, 1, 5), Edit(10, 1, 0), Edit(20, 0, 1)]) == {2, 10, 20, 21}


@st.composite
def histories(draw: st.DrawFn) -> list[list[Edit]]:
    """Commits to a file of twelve lines, each a few edits that do not touch."""
    length, commits = 12, []
    for _ in range(draw(st.integers(1, 5))):
        edits, line = [], 1
        while line <= length and draw(st.booleans()):
            line += draw(st.integers(0, 3))
            removed = min(draw(st.integers(0, 3)), max(0, length - line + 1))
            if removed or line <= length:
                edits.append(Edit(line, removed, draw(st.integers(0 if removed else 1, 3))))
            line += removed + 2
        length += sum(edit.added - edit.removed for edit in edits)
        commits.append(edits)
    return commits


@given(histories())
def test_replaced_lines_are_those_whose_names_say_so(commits: list[list[Edit]]) -> None:
    file, lines = [f"base {number}" for number in range(1, 13)], FileLines()
    for commit in commits:
        expected: set[int] = set()
        after: list[str] = []
        at = 0
        for edit in commit:
            start = edit.line - 1 if edit.removed else edit.line
            gone = file[start : start + edit.removed]
            expected |= {int(name[5:]) for name in gone if name.startswith("base")}
            after += file[at:start] + ["new"] * edit.added
            at = start + edit.removed
        file = after + file[at:]
        replacing = [edit for edit in commit if edit.removed]
        found = lines.apply(commit)
        if len(replacing) == len(commit):
            assert found == expected
        else:
            assert expected <= found


@pytest.mark.parametrize("line", [1, 500_000])
def test_a_file_is_followed_only_as_far_as_it_was_edited(line: int) -> None:
    lines = FileLines()
    lines.apply([Edit(line, 1, 1)])
    assert len(lines._lines) == line
