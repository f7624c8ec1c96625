"""The comment in every situation and on every rung of its size ladder, byte for byte."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from ciwm.report.bump_markdown import comment_markdown, summary_markdown
from ciwm.report.bump_text import show_bump
from tests.golden.cases import CASES, forty_wrong
from tests.golden.files import assert_golden

# so many bytes make the forty wrong benchmarks end on each rung in turn
RUNGS = {
    "0 everything": 65_000,
    "1 without hunks": 17_000,
    "2 without folded lists": 8_000,
    "3 worst rows": 5_500,
    "4 answer and link": 1_500,
    "5 link": 250,
    "6 one sentence": 60,
}


@pytest.mark.parametrize("case", CASES)
def test_a_comment_reads_as_it_always_did(case: str) -> None:
    assert_golden(f"comments/{case}.md", comment_markdown(CASES[case]()))


@pytest.mark.parametrize("rung", RUNGS)
def test_each_rung_reads_as_it_always_did(rung: str) -> None:
    text = comment_markdown(forty_wrong(), RUNGS[rung])
    assert len(text.encode()) <= RUNGS[rung]
    assert_golden(f"comments/rungs/{rung}.md", text)


def test_the_rungs_are_all_different() -> None:
    assert len({comment_markdown(forty_wrong(), limit) for limit in RUNGS.values()}) == len(RUNGS)


@pytest.mark.parametrize("case", CASES)
def test_the_terminals_story_reads_as_it_always_did(case: str) -> None:
    console = Console(file=StringIO(), width=120, color_system=None)
    show_bump(CASES[case](), console)
    assert isinstance(console.file, StringIO)
    assert_golden(f"terminal/{case}.txt", console.file.getvalue())


def test_the_summary_keeps_what_the_comment_has_no_room_for() -> None:
    report = forty_wrong()
    assert report.verdict is not None
    names = [f"`{row.series}`" for row in report.verdict.series]
    summary, short = summary_markdown(report), comment_markdown(report, RUNGS["3 worst rows"])
    assert all(name in summary for name in names)
    assert sum(name in short for name in names) == 5
    assert summary.count("<<<<<<<") == 30
