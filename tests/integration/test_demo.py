"""`ciwm demo`: what a newcomer sees first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.cli import run
from ciwm.demo.repositories import BASE, HEAD, make_example
from ciwm.records import BumpReport, read_record
from ciwm.report.bump_answer import next_steps
from tests.integration.test_job import git

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_demo_tells_its_story_in_words_and_names_the_comment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    assert run(["demo", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr()
    assert "decode-rmsnorm/length=400000 step_time" in shown.out
    report = read_record(tmp_path / "out/report/report.json", BumpReport)
    told = " ".join(shown.out.partition("\nNext:")[2].split())
    assert all(" ".join(step.split()) in told for step in next_steps(report))
    assert "<details>" not in shown.out
    comment = tmp_path / "out/report/comment.md"
    assert f"the comment: {comment}" in shown.err
    assert comment.read_text().startswith("### ")
    assert "nothing was posted" in shown.err


def test_what_the_comment_says_to_fetch_can_be_fetched_in_the_examples_fork(
    tmp_path: Path,
) -> None:
    fork = make_example(tmp_path).fork
    shas = [git(fork.path, "rev-parse", name) for name in (BASE, HEAD)]
    git(fork.path, "fetch", "origin", *shas)
