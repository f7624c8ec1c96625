from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from ciwm.bench.run_so_far import batches_of, taken_s
from tests.runs import RunBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.records import Launch


@pytest.mark.parametrize(
    ("spans", "taken"),
    [
        ([], 0),
        ([(0, 10), (10, 10), (20, 10), (30, 10)], 40),  # one card, one after the other
        ([(0, 10), (0, 10), (10, 10), (10, 10)], 20),  # two cards side by side
        ([(0, 30), (5, 10), (20, 20), (50, 1)], 41),  # 0 to 40, and 50 to 51
    ],
)
def test_launches_side_by_side_take_their_time_once(
    spans: list[tuple[int, int]], taken: int
) -> None:
    model = RunBuilder().blocks(1, 1.0, 1.0).run().launches[0]
    launches: list[Launch] = [
        model.model_copy(
            update={"started_at": model.started_at + timedelta(seconds=at), "duration_s": took}
        )
        for at, took in spans
    ]
    assert taken_s(launches[::-1]) == taken


def test_calls_of_a_sample_are_those_of_the_first_launch_that_ended_well(tmp_path: Path) -> None:
    model = RunBuilder().blocks(1, 1.0, 1.0).run().launches[0]
    launches = []
    for number, (exit_, size) in enumerate([("failed", 1), ("ok", 10), ("ok", 100)], start=1):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "journal.jsonl").write_text(
            f'{{"kind": "batch", "series": "w", "size": {size}}}\n'
        )
        update = {"number": number, "exit": exit_, "log": f"{number}/log.txt"}
        launches.append(model.model_copy(update=update))
    assert batches_of(tmp_path, launches[::-1]) == {"w": 10}
    assert batches_of(tmp_path, []) == {}
