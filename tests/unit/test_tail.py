"""The last lines of a log, as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.launch.tail import failed_lines, last_lines, plain

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("\x1b[1;31merror:\x1b[0m x", "error: x"),
        ("10%\r50%\r100%", "100%"),
        ("windows\r", "windows"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("tab\there \x00\x08bell\x07", "tab\there bell"),
        ("trailing   ", "trailing"),
        ("ünïcode 日本", "ünïcode 日本"),
    ],
)
def test_a_line_is_what_a_terminal_would_leave(line: str, shown: str) -> None:
    assert plain(line) == shown


def test_the_last_lines_without_empty_ones(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"{n}\n\n" for n in range(100)))
    assert last_lines(log, 3) == ("97", "98", "99")
    assert len(last_lines(log)) == 40


def test_long_lines_are_cut_with_a_mark(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("x" * 10_000 + "\nend")
    long, end = last_lines(log)
    assert (len(long), long[-1], end) == (500, "…", "end")


def test_secrets_are_masked_before_a_line_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "s" * 20)
    log = tmp_path / "log"
    log.write_text("x" * 490 + "s" * 20 + "\n")
    assert last_lines(log) == ("x" * 490 + "***",)


def test_a_log_of_one_endless_line_and_bytes_of_no_encoding_are_bounded(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xff" * (1 << 20))
    [line] = last_lines(log)
    assert len(line) == 500


def test_an_empty_log_has_no_last_lines(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    assert last_lines(tmp_path / "log") == ()


def test_the_first_error_is_told_however_much_was_logged_after_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    warnings = "".join(
        f"kernel_{n}.cu(9): warning #177-D: declared, never used\n" for n in range(9000)
    )
    error = "\x1b[31mattention.cu(41): error: no such type\x1b[0m\n"
    recipe = "ciwm: sh -ec 'make || echo error: no make'\n"
    log.write_text(f"{recipe}{warnings}{error}{warnings}make: *** [all]\n")
    assert log.stat().st_size > 900_000
    found = failed_lines(log)
    assert found[:2] == ("attention.cu(41): error: no such type", "[...]")
    assert found[-1] == "make: *** [all]"
    assert len(found) == 40


def test_a_failure_without_a_line_that_tells_it_has_just_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"{n}\n" for n in range(100)))
    assert failed_lines(log, 3) == ("97", "98", "99")
