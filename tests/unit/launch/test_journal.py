from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ciwm.launch.journal import Journal, read_journal

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = {"kind": "samples", "series": "w", "metric": "step_time", "values": [1.0, 2.0]}


def written(path: Path, *lines: object, end: str = "") -> Path:
    file = path / "journal.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + end)
    return file


def test_samples_of_a_series_are_joined_in_order(tmp_path: Path) -> None:
    more = {**SAMPLES, "values": [3.0]}

    journal = read_journal(written(tmp_path, SAMPLES, more))

    assert [one.values for one in journal.samples] == [(1.0, 2.0, 3.0)]


def test_a_torn_last_line_costs_only_itself(tmp_path: Path) -> None:
    journal = read_journal(written(tmp_path, SAMPLES, end=json.dumps(SAMPLES)[:-9]))

    assert [one.values for one in journal.samples] == [(1.0, 2.0)]
    assert journal.unreadable == 0


def test_lines_that_make_no_sense_are_counted_and_dropped(tmp_path: Path) -> None:
    nonsense = [
        17,
        None,
        {"no": "kind"},
        {"kind": "samples", "series": "w"},
        {**SAMPLES, "values": ["x"]},
        {**SAMPLES, "values": [float("nan")]},
        {**SAMPLES, "series": 5},
    ]

    journal = read_journal(written(tmp_path, SAMPLES, *nonsense))

    assert [one.values for one in journal.samples] == [(1.0, 2.0)]
    assert journal.unreadable == len(nonsense)


def test_kinds_of_a_later_worker_are_ignored(tmp_path: Path) -> None:
    journal = read_journal(written(tmp_path, {"kind": "telemetry", "x": 1}, {"kind": "end"}))

    assert journal.ended
    assert journal.unreadable == 0


def test_no_file_is_an_empty_journal(tmp_path: Path) -> None:
    journal = read_journal(tmp_path / "journal.jsonl")
    assert (journal.samples, journal.ended, journal.error) == ((), False, None)


def test_the_first_error_counts_and_is_one_line(tmp_path: Path) -> None:
    first = {"kind": "error", "reason": "oom", "message": "out of\n memory"}
    second = {"kind": "error", "reason": "failed", "message": "later"}

    assert read_journal(written(tmp_path, first, second)).error == ("oom", "out of memory")


@given(st.binary())
def test_no_bytes_make_a_line_raise(line: bytes) -> None:
    Journal().take(line)
