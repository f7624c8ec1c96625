"""The harness that sets ciwm beside its rivals: planted work is real, blocks are whole."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from ciwm.config import GateConfig
from tests.bench.rivals import workloads
from tests.bench.rivals.collect import ARMS, Pool, read_pool
from tests.bench.rivals.compare import ciwm_tallies, tallies
from tests.bench.rivals.judges import Rival, ratio

if TYPE_CHECKING:
    from pathlib import Path


def made(rounds: int, noise: float) -> Pool:
    """A pool of two workloads whose slowdowns are what the arms say."""
    rng = random.Random(1)

    def launch(percent: float) -> list[float]:
        level = rng.gauss(1, noise) * (1 + percent / 100)
        return [level * rng.gauss(1, 0.001) for _ in range(9)]

    arms = {arm: [launch(percent) for _ in range(2 * rounds)] for arm, percent in ARMS.items()}
    return Pool(seed=1, iterations=9, launches={"one": arms, "other": arms})


def test_a_planted_slowdown_is_more_units_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    monkeypatch.setitem(workloads.WORKLOADS, "counted", lambda: lambda: counts.update(["unit"]))
    assert len(workloads.timed("counted", 0, 3)) == 3
    unchanged = counts.total()
    counts.clear()
    workloads.timed("counted", 10, 3)
    assert counts.total() == pytest.approx(1.1 * unchanged)


@pytest.mark.parametrize("name", workloads.WORKLOADS)
def test_a_launch_prints_the_seconds_of_each_iteration(name: str) -> None:
    done = subprocess.run(
        [sys.executable, workloads.__file__, name, "5", "4"],
        capture_output=True,
        check=True,
        text=True,
    )
    values = json.loads(done.stdout)
    assert len(values) == 4
    assert min(values) > 0


def test_ciwm_judges_every_window_of_every_workload() -> None:
    found = ciwm_tallies(made(rounds=16, noise=0.005), GateConfig())
    assert {arm: tally.comparisons for arm, tally in found.items()} == dict.fromkeys(found, 4)
    assert found["same"].slower == 0
    assert found["same"].passed == 4
    assert max(found["same"].launches) <= 6
    assert found["+10 %"].slower == 4


def test_a_rival_judges_side_by_side_and_later() -> None:
    found = tallies(made(rounds=4, noise=0.0001), Rival("ratio", 2, ratio(1.04)))
    assert found["same"].comparisons == 8
    assert found["later"].comparisons == 4
    assert (found["same"].slower, found["+3 %"].slower, found["+5 %"].slower) == (0, 0, 8)


def test_a_pool_is_read_as_it_was_written(tmp_path: Path) -> None:
    pool = made(rounds=1, noise=0.01)
    (tmp_path / "pool.json").write_text(json.dumps(asdict(pool)))
    assert read_pool(tmp_path / "pool.json") == pool
