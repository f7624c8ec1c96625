"""Whatever a run holds, the gate ends in the right outcome or in one clear line."""

from __future__ import annotations

import csv
import json
import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run as ciwm
from ciwm.records import Telemetry
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from collections.abc import Callable

HOT = Telemetry(accelerator=0, throttle_reasons=("hw_thermal_slowdown",))
HEADER = ["series", "unit", "better", "side", "block", "launch", "iteration", "value"]


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def one_launch() -> RunBuilder:
    builder = RunBuilder().block(0, {"base": [1.0, 1.0], "head": [2.0, 2.0]})
    builder.launches = builder.launches[:1]
    return builder


def one_block() -> RunBuilder:
    return RunBuilder().block(0, {"base": [1.0, 1.0], "head": [2.0, 2.0]})


def all_void() -> RunBuilder:
    builder = RunBuilder()
    for attempt in range(5):
        builder.block(
            0,
            {"base": [1.0] * 2, "head": [2.0] * 2},
            attempt=attempt,
            telemetry={"base": [HOT, HOT], "head": [HOT, HOT]},
        )
    return builder


def zero_times() -> RunBuilder:
    return RunBuilder().blocks(4, 0.0, 0.0)


def negative_metrics() -> RunBuilder:
    builder = RunBuilder(family=[series(metric="loglik", unit="nats", better="higher")])
    for number in range(4):
        builder.block(number, {"base": [-3.0, -3.1], "head": [-3.1, -3.0]})
    return builder


def negative_metrics_with_a_threshold_in_their_unit() -> RunBuilder:
    builder = negative_metrics()
    builder.family = [series(metric="loglik", unit="nats", better="higher", threshold_abs=1.0)]
    return builder


def identical_times() -> RunBuilder:
    builder = RunBuilder()
    for number in range(4):
        builder.block(number, {"base": [1.0, 1.0], "head": [1.0, 1.0]})
    return builder


def identical_counts_that_differ() -> RunBuilder:
    builder = RunBuilder(family=[series(metric="spills", unit="count")])
    for number in range(4):
        builder.block(number, {"base": [7, 7], "head": [9, 9]})
    return builder


def bimodal() -> RunBuilder:
    rng, builder = random.Random(3), RunBuilder(plan={"family_size": 40})
    for number in range(8):
        values = {s: [rng.choice([1.0, 1.3]) for _ in "ab"] for s in ("base", "head")}
        builder.block(number, values)
    return builder


def on_one_side_only() -> RunBuilder:
    family = [series("decode/b1"), series("decode/b2")]
    both, one = {"decode/b1": 1.0, "decode/b2": 1.0}, {"decode/b1": 1.0}
    builder = RunBuilder(family=family)
    for number in range(2):
        builder.block(number, {"base": [both, both], "head": [one, one]})
    return builder


def twice_in_a_launch() -> RunBuilder:
    builder = RunBuilder().blocks(3, 1.0, 1.0)
    builder.launches = [
        launch.model_copy(update={"samples": launch.samples * 2}) for launch in builder.launches
    ]
    return builder


def planned_twice() -> RunBuilder:
    return RunBuilder(family=[series(), series()]).blocks(2, 1.0, 1.0)


def no_series() -> RunBuilder:
    return RunBuilder(family=[])


def subnormal_and_huge() -> RunBuilder:
    return RunBuilder().blocks(4, 5e-324, 1e308)


def differences_of_huge_values() -> RunBuilder:
    family = [series(metric="delta", unit="MiB", threshold_abs=5.0)]
    return RunBuilder(family=family).blocks(4, 1e308, -1e308)


@pytest.mark.parametrize(
    ("made", "outcome", "code"),
    [
        (one_launch, "inconclusive", 0),
        (one_block, "inconclusive", 0),
        (all_void, "void", 0),
        (zero_times, "void", 0),
        (negative_metrics, "void", 0),
        (negative_metrics_with_a_threshold_in_their_unit, "unchanged", 0),
        (identical_times, "unchanged", 0),
        (identical_counts_that_differ, "regressed", 1),
        (bimodal, "inconclusive", 0),
        (on_one_side_only, "missing", 1),
        (subnormal_and_huge, "void", 0),
        (differences_of_huge_values, "void", 0),
    ],
)
def test_odd_runs_end_in_the_right_outcome(
    capsys: pytest.CaptureFixture[str],
    made: Callable[[], RunBuilder],
    outcome: str,
    code: int,
) -> None:
    complete = made is not one_launch
    Path("run.json").write_text(made().run(complete=complete).to_json())
    assert ciwm(["gate", "run.json", "--json"]) == code
    verdict = json.loads(capsys.readouterr().out)
    assert outcome in {one["outcome"] for one in verdict["series"]}
    for form in ([], ["--markdown"]):
        assert ciwm(["gate", "run.json", *form]) == code
        assert outcome in capsys.readouterr().out


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (planned_twice, "planned twice: decode/b1 step_time"),
    ],
)
def test_runs_that_cannot_be_judged_are_one_clear_line(
    capsys: pytest.CaptureFixture[str],
    made: Callable[[], RunBuilder],
    said: str,
) -> None:
    Path("run.json").write_text(made().run().to_json())
    assert ciwm(["gate", "run.json"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert sum(line.startswith("error") for line in err.splitlines()) == 1


@pytest.mark.parametrize("made", [twice_in_a_launch, no_series])
def test_what_says_nothing_is_no_pass(
    capsys: pytest.CaptureFixture[str],
    made: Callable[[], RunBuilder],
) -> None:
    Path("run.json").write_text(made().run().to_json())
    assert ciwm(["gate", "run.json"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("fail: ")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '"fast"', "null", "1e999"])
def test_a_value_in_a_run_that_is_no_number_is_one_clear_line(
    capsys: pytest.CaptureFixture[str],
    value: str,
) -> None:
    text = RunBuilder().block(0, {"base": [12345.5] * 2, "head": [1.0] * 2}).run().to_json()
    Path("run.json").write_text(text.replace("12345.5", value, 1))
    assert ciwm(["gate", "run.json"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: run.json")
    assert sum(line.startswith("error") for line in err.splitlines()) == 1


def sampled(path: Path, rows: list[tuple[Any, ...]]) -> str:
    with path.open("w", newline="") as sink:
        csv.writer(sink).writerows([HEADER, *rows])
    return str(path)


def test_units_that_differ_between_two_files_are_one_clear_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [
        sampled(Path(f"{unit}.csv"), [("a", unit, "lower", "base", 0, n, 0, 1.0) for n in (0, 1)])
        for unit in ("s", "ms")
    ]
    assert ciwm(["gate", "--base", files[0], "--head", files[1]]) == 2
    assert "unit of a value is 's' in s.csv and 'ms' in ms.csv" in capsys.readouterr().err


def test_a_million_iterations_are_judged(capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(1)
    cycle = [rng.gauss(1, 0.01) for _ in range(1000)]
    long = cycle * 1000
    builder = RunBuilder().block(0, {"base": [long, cycle], "head": [cycle, cycle]})
    builder.block(1, {"base": [cycle, cycle], "head": [cycle, cycle]})
    Path("run.json").write_text(builder.run().to_json())
    assert ciwm(["gate", "run.json", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["series"]
    assert found["outcome"] == "unchanged"
    assert math.isclose(found["ratio"], 1, abs_tol=1e-6)
