"""What the first readers of our reports stumbled over."""

from __future__ import annotations

import errno
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from ciwm.commands.options import wide_console
from ciwm.launch.files import cannot_write
from ciwm.report.bump_answer import answer, next_steps
from ciwm.report.bump_markdown import comment_markdown
from ciwm.report.bump_parts import sided_builds
from ciwm.report.bump_text import show_bump
from ciwm.report.figures import natural
from ciwm.report.one_sided import needs_words
from ciwm.report.verdict_markdown import verdict_section
from ciwm.report.verdict_text import show_verdict
from tests import records_examples as examples

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.records import BumpReport, Verdict


def shown(report: BumpReport) -> str:
    console = Console(file=StringIO(), width=120, color_system=None)
    show_bump(report, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_revision_against_itself_has_a_base_and_a_head() -> None:
    same = examples.revision("base")
    builds = (examples.build("base"), examples.build("head", revision=same))
    report = examples.bump(base=same, head=same, builds=builds)
    assert [side for side, _ in sided_builds(report)] == ["base", "head"]


def test_what_was_cancelled_did_not_fail_and_says_how_to_go_on() -> None:
    report = examples.bump(
        stages=examples.stages(bench="interrupted"), verdict=None, exit_code=130, pull_request=None
    )
    assert answer(report).startswith("⚠️ Cancelled: ")
    assert "what was measured is kept" in next_steps(report)[0]
    assert "ciwm bench --resume" in next_steps(report)[0]


def test_cancelled_in_a_build_is_no_build_to_mend() -> None:
    builds = (examples.build("base", status="interrupted"),)
    report = examples.bump(
        builds=builds, verdict=None, exit_code=130, run_file=None, pull_request=None
    )
    assert next_steps(report) == (
        "this job was cancelled before anything was measured: run it again.",
    )


def test_how_the_interval_was_made_is_told_to_its_end() -> None:
    method = "x" * 500 + " to the end"
    text = verdict_section(examples.verdict("unchanged", interval_method=method))
    assert "to the end" in text


@pytest.mark.parametrize(
    ("better", "low", "high", "beyond"),
    [
        ("lower", 0.99, 1.031, True),
        ("lower", 0.90, 1.029, False),
        ("higher", 0.96, 1.01, True),
        ("higher", 0.98, 1.20, False),
    ],
)
def test_an_interval_over_the_limit_of_what_is_unchanged_is_explained(
    better: str, low: float, high: float, *, beyond: bool
) -> None:
    row = (
        examples.verdict("unchanged")
        .series[0]
        .model_copy(
            update={
                "better": better,
                "ci_low": low,
                "ci_high": high,
                "threshold_pct": 3.0,
                "reason": "with 95 % confidence no worse than +2.9 %",
            }
        )
    )
    verdict = examples.verdict("unchanged").model_copy(update={"series": (row,)})
    assert needs_words(row) is beyond
    assert ("no worse than" in _terminal(verdict)) is beyond
    comment = comment_markdown(examples.bump(verdict=verdict))
    assert ("no worse than" in comment) is beyond


def _terminal(verdict: Verdict) -> str:
    console = Console(file=StringIO(), width=120, color_system=None)
    show_verdict(verdict, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_reason_of_the_only_series_is_told_once_at_the_end() -> None:
    text = _terminal(_alone())
    assert text.count("not slower") == 0
    assert text.count("slower by more than 3 %") == 1
    assert text.splitlines()[-1].startswith("fail: 1 regressed")


def _alone() -> Verdict:
    found = examples.verdict("regressed")
    return found.model_copy(update={"reason": f"1 regressed, of 1; {found.series[0].reason}"})


def test_in_a_log_tables_are_as_wide_as_the_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.stdout", StringIO())
    assert wide_console().width == 120


def test_a_full_disk_has_its_free_space_told_and_nothing_else_has(tmp_path: Path) -> None:
    full = cannot_write(tmp_path / "x", OSError(errno.ENOSPC, "No space left on device"))
    refused = cannot_write(tmp_path / "x", OSError(errno.EACCES, "Permission denied"))
    assert "MiB free" in full.message
    assert "make room" in full.hint
    assert "MiB free" not in refused.message
    assert "make room" not in refused.hint
    assert "the right to write there" in refused.hint


def test_full_commit_ids_are_short_on_a_terminal() -> None:
    sha = "0123456789" * 4
    sync = examples.sync()
    ours = sync.downstream.model_copy(update={"ref": sha, "sha": sha})
    text = shown(examples.bump(sync=sync.model_copy(update={"downstream": ours})))
    assert sha not in text
    assert sha[:12] in text


def test_names_are_sorted_as_people_count() -> None:
    names = ["op[bytes=1048576]", "op[bytes=1024]", "op[batch=16]", "op[batch=2]", "op"]
    assert sorted(names, key=natural) == [
        "op",
        "op[batch=2]",
        "op[batch=16]",
        "op[bytes=1024]",
        "op[bytes=1048576]",
    ]


def test_a_word_of_a_result_is_explained_where_it_stands_and_not_elsewhere() -> None:
    text = verdict_section(examples.verdict("void", "unchanged"))
    assert "Void: conditions changed" in text
    assert "Inconclusive: " not in text
    assert "**+2.1%**" not in text  # a void figure is no finding


def test_where_rows_of_failures_are_folded_each_reason_stands_once_in_the_open() -> None:
    rows = tuple(
        examples.series_verdict("failed", f"w[batch={number}]", reason=f"reason {number % 2}")
        for number in range(30)
    )
    opened = verdict_section(examples.verdict(series=rows)).split("<details>")[0]
    assert "- 15 failed: reason 0\n- 15 failed: reason 1" in opened
    few = verdict_section(examples.verdict(series=rows[:4]))
    assert "failed: reason" not in few.split("<details>")[0]
