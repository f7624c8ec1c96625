"""The sync report as terminal text and comment section, byte for byte."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from ciwm.records.sync import ConflictedFile, Conflicts
from ciwm.report.sync_markdown import sync_section
from ciwm.report.sync_text import show_sync
from tests.golden.files import assert_golden
from tests.sync_examples import CASES

if TYPE_CHECKING:
    from ciwm.records import SyncReport


def text_of(case: SyncReport, width: int = 80) -> str:
    page = io.StringIO()
    show_sync(case, Console(file=page, width=width, force_terminal=False, highlight=False))
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


@pytest.mark.parametrize("name", CASES)
def test_the_terminal_text_is_as_it_was_read(name: str) -> None:
    assert_golden(f"sync/{name}.txt", text_of(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_the_section_of_the_comment_is_as_it_was_read(name: str) -> None:
    assert_golden(f"sync/{name}.md", sync_section(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_no_line_is_wider_than_eighty_columns(name: str) -> None:
    long = "deep/" * 40 + "name.py"
    file = ConflictedFile(path=long, kind="content", hunk_count=1)
    wide = CASES[name].model_copy(
        update={"conflicts": Conflicts(clean=False, count=1, hunks=1, files=(file,))}
    )
    assert max(len(line) for line in text_of(wide).splitlines()) <= 80
    first_words = [line.split()[0] for line in text_of(wide).splitlines() if line.strip()]
    assert long in "".join(first_words), "a path is folded, never cut"
