"""Quantities that are no time: peak memory by a difference, accuracy where higher is better."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run as ciwm
from ciwm.errors import NO, OK

if TYPE_CHECKING:
    from tests.fork import Fork

CONFIG = """
[[workload]]
id = "train"
command = "{python} bench/train.py {out}"

[workload.metrics]
accuracy = { unit = "%", better = "higher", threshold_abs = 0.5 }
peak_memory = { unit = "MiB", better = "lower", threshold = "5%" }
tokens = { unit = "tokens", better = "lower", threshold = "1%" }

[[gate.series]]
metric = "tokens"
block_on = ["missing", "failed"]
threshold = "1%"
"""
# accuracy is a count of right answers, the same in every launch; memory differs by the page
TRAIN = """
import json, os, sys
import framework
told = dict(framework.QUALITIES)
told["peak_memory"] += os.getpid() % 7 / 256
json.dump(told, open(sys.argv[1], "w"))
"""


def qualities(accuracy: float = 91.25, peak_memory: float = 1000.0, tokens: int = 640) -> str:
    found = {"accuracy": accuracy, "peak_memory": peak_memory, "tokens": tokens}
    return f"QUALITIES = {found}\n"


def judged(fork: Fork, capsys: pytest.CaptureFixture[str], head: str) -> tuple[int, dict[str, Any]]:
    """The gate's exit code, and its series by metric, for a head of other qualities."""
    fork.commit(
        {
            "ciwm.toml": CONFIG,
            "bench/train.py": TRAIN,
            "framework/__init__.py": qualities(),
        }
    )
    fork.commit({"framework/__init__.py": head + "# head\n"}, branch="sync")
    out = str(fork.runs / "run")
    assert ciwm(["-C", str(fork.path), "bench", "main", "sync", "--out", out]) == OK
    capsys.readouterr()
    code = ciwm(["-C", str(fork.path), "gate", out, "--json"])
    rows = json.loads(capsys.readouterr().out)["series"]
    return code, {row["metric"]: row for row in rows}


def test_the_same_accuracy_and_memory_pass(fork: Fork, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows = judged(fork, capsys, qualities())
    assert code == OK
    assert {row["outcome"] for row in rows.values()} == {"unchanged"}
    assert "is the same in all" in rows["accuracy"]["reason"]


def test_a_lower_accuracy_blocks_and_is_compared_exactly(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    code, rows = judged(fork, capsys, qualities(accuracy=90.5))
    assert code == NO
    assert rows["accuracy"]["outcome"] == "regressed"
    assert rows["accuracy"]["difference"] == pytest.approx(-0.75)
    assert "accuracy is 0.75 points lower" in rows["accuracy"]["reason"]
    assert "compared exactly" in rows["accuracy"]["reason"]


def test_a_loss_of_accuracy_short_of_its_threshold_passes(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    code, rows = judged(fork, capsys, qualities(accuracy=91.0))
    assert (code, rows["accuracy"]["outcome"]) == (OK, "unchanged")
    assert "below the threshold of 0.5 points" in rows["accuracy"]["reason"]


def test_more_memory_blocks_by_evidence(fork: Fork, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows = judged(fork, capsys, qualities(peak_memory=1100.0))
    assert (code, rows["peak_memory"]["outcome"]) == (NO, "regressed")
    assert rows["peak_memory"]["ratio"] == pytest.approx(1.1, rel=1e-3)


def test_a_quantity_that_a_rule_lets_only_report_does_not_block(
    fork: Fork, capsys: pytest.CaptureFixture[str]
) -> None:
    code, rows = judged(fork, capsys, qualities(tokens=700))
    assert (code, rows["tokens"]["outcome"]) == (OK, "regressed")
