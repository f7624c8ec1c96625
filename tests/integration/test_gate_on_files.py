"""`ciwm gate --base FILE --head FILE` on the results of other tools, as a user would call it."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run as ciwm
from tests.runs import RunBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OUTPUTS = Path(__file__).parents[1] / "tool_outputs"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def named(side: str, paths: Sequence[Path]) -> list[str]:
    return [word for path in paths for word in (f"--{side}", str(path))]


def judged(
    capsys: pytest.CaptureFixture[str],
    base: Sequence[Path],
    head: Sequence[Path],
    *more: str,
    code: int = 0,
) -> dict[str, Any]:
    arguments = ["gate", *named("base", base), *named("head", head), *more, "--json"]
    assert ciwm(arguments) == code, capsys.readouterr().err
    verdict: dict[str, Any] = json.loads(capsys.readouterr().out)
    return verdict


def outcomes(verdict: dict[str, Any]) -> set[str]:
    return {one["outcome"] for one in verdict["series"]}


def copies(
    folder: Path, name: str, count: int, change: Callable[[Any, int], None] | None = None
) -> list[Path]:
    """Copies of an output, each a run of the tool; `change` edits the n-th."""
    folder.mkdir()
    paths = [folder / f"{number}-{Path(name).name}" for number in range(count)]
    for number, path in enumerate(paths):
        data = json.loads((OUTPUTS / name).read_text())
        if change is not None:
            change(data, number)
        path.write_text(json.dumps(data))
    return paths


def times(factor: float, seed: int) -> Callable[[Any, int], None]:
    """pytest-benchmark's rounds, `factor` times as long, each run a little off by itself."""

    def change(data: Any, number: int) -> None:
        launch = random.Random(f"{seed} {number}").gauss(1, 0.002)
        for entry in data["benchmarks"]:
            entry["stats"]["data"] = [v * factor * launch for v in entry["stats"]["data"]]

    return change


def test_one_file_a_side_is_advice_with_the_change_that_it_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "pytest-benchmark.json"
    (base,) = copies(tmp_path / "base", name, 1)
    (head,) = copies(tmp_path / "head", name, 1, lambda data, _: times(1.5, 1)(data, 0))
    verdict = judged(capsys, [base], [head])
    assert outcomes(verdict) == {"inconclusive"}
    for one in verdict["series"]:
        assert one["ratio"] == pytest.approx(1.5, rel=0.01)
        assert one["launches"] == {"base": 1, "head": 1}
        assert one["reason"].startswith("advice only: ")
        assert "1+1 launches are too few for an interval" in one["reason"]


def test_however_many_files_there_are_a_slowdown_is_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = copies(tmp_path / "base", "pytest-benchmark.json", 12, times(1.0, 1))
    head = copies(tmp_path / "head", "pytest-benchmark.json", 12, times(1.2, 2))
    verdict = judged(capsys, base, head)
    assert outcomes(verdict) == {"inconclusive"}
    assert all("measured apart" in one["reason"] for one in verdict["series"])
    assert verdict["series"][0]["ci_low"] > 1.15
    assert any("cannot be told from the change itself" in line for line in verdict["problems"])


def test_trust_separate_decides_on_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = copies(tmp_path / "base", "pytest-benchmark.json", 12, times(1.0, 1))
    head = copies(tmp_path / "head", "pytest-benchmark.json", 12, times(1.2, 2))
    verdict = judged(capsys, base, head, "--trust-separate", code=1)
    assert outcomes(verdict) == {"regressed"}
    assert any("the bound on false alarms does not hold" in line for line in verdict["problems"])
    reasons = [one["reason"] for one in verdict["series"]]
    assert all("on trust and is no proof: the files were measured apart" in one for one in reasons)
    assert not any("less than once" in one for one in reasons)
    verdict = judged(capsys, base, copies(tmp_path / "same", "pytest-benchmark.json", 12))
    assert "regressed" not in outcomes(verdict)


def slower_medians(data: Any, number: int) -> None:
    for key in data:
        if key.endswith("_ms"):
            data[key] *= 1.2 + number / 1000


def test_aggregates_are_marked_and_even_on_trust_no_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = copies(tmp_path / "base", "vllm-serve.json", 8)
    head = copies(tmp_path / "head", "vllm-serve.json", 8, slower_medians)
    advice = judged(capsys, base, head)
    marked = {one["metric"]: one["aggregate"] for one in advice["series"]}
    assert marked["ttft"] == "median of 6 requests"
    assert marked["request_throughput"] == ""
    assert outcomes(advice) == {"inconclusive"}
    (ttft,) = [one for one in advice["series"] if one["metric"] == "ttft"]
    assert "one figure (median of 6 requests), no samples" in ttft["reason"]
    assert any("no samples, one figure a launch" in line for line in advice["problems"])
    trusted = judged(capsys, base, head, "--trust-separate", code=1)
    (ttft,) = [one for one in trusted["series"] if one["metric"] == "ttft"]
    assert ttft["outcome"] == "regressed"
    assert "taken on trust and is no proof" in ttft["reason"]


def test_higher_is_better_where_the_format_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def slower(data: Any, number: int) -> None:
        data["requests_per_second"] *= 0.8 + number / 10_000

    base = copies(tmp_path / "base", "vllm-throughput.json", 8)
    head = copies(tmp_path / "head", "vllm-throughput.json", 8, slower)
    verdict = judged(capsys, base, head, "--trust-separate", code=1)
    (one,) = verdict["series"]
    assert (one["metric"], one["better"], one["outcome"]) == (
        "request_throughput",
        "higher",
        "regressed",
    )


def test_a_benchmark_that_fails_on_head_alone_is_a_failure_by_its_own_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def mended(data: Any, _: int) -> None:
        (broken,) = [one for one in data["benchmarks"] if one["name"] == "broken"]
        broken |= {"error_occurred": False, "real_time": 5.0, "cpu_time": 5.0}

    base = copies(tmp_path / "base", "google-benchmark.json", 1, mended)
    head = copies(tmp_path / "head", "google-benchmark.json", 1)
    verdict = judged(capsys, base, head, "--ignore", "custom", code=1)
    (broken,) = [one for one in verdict["series"] if one["series"] == "broken"]
    assert broken["outcome"] == "failed"
    assert "no device" in broken["reason"]


def test_two_machines_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def elsewhere(data: Any, _: int) -> None:
        data["machine_info"]["cpu"]["brand_raw"] = "Another CPU"

    base = copies(tmp_path / "base", "pytest-benchmark.json", 1)
    head = copies(tmp_path / "head", "pytest-benchmark.json", 1, elsewhere)
    verdict = judged(capsys, base, head)
    assert outcomes(verdict) == {"void"}
    assert "Another CPU" in verdict["series"][0]["reason"]
    assert ciwm(["gate", *named("base", base), *named("head", head), "--on-void", "fail"]) == 5


def test_units_of_the_two_files_need_not_be_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def in_ns(data: Any, _: int) -> None:
        for one in data["benchmarks"]:
            if one["time_unit"] == "us":
                one["time_unit"] = "ns"
                one["real_time"] *= 1000
                one["cpu_time"] *= 1000

    base = copies(tmp_path / "base", "google-benchmark.json", 1)
    head = copies(tmp_path / "head", "google-benchmark.json", 1, in_ns)
    verdict = judged(capsys, base, head, "--ignore", "custom", code=1)  # `broken` fails on both
    (micro,) = [one for one in verdict["series"] if one["series"] == "micro"]
    assert micro["ratio"] == pytest.approx(1.0)


def test_an_unknown_direction_ends_with_2_and_says_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "github-action-benchmark-custom.json"
    base, head = (copies(tmp_path / side, name, 1) for side in ("base", "head"))
    arguments = ["gate", *named("base", base), *named("head", head)]
    assert ciwm(arguments) == 2
    told = capsys.readouterr().err
    assert "whether more or less of MiB, ms is better is not known" in told
    assert "--metric MiB=UNIT,higher (or lower)" in told
    stated = ["--metric", "M*B=MiB,lower", "--metric", "ms=ms,lower"]
    assert ciwm([*arguments, *stated]) == 0


def test_the_configuration_states_metrics_too_and_the_command_line_goes_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "github-action-benchmark-custom.json"
    base, head = (copies(tmp_path / side, name, 1) for side in ("base", "head"))
    (tmp_path / "ciwm.toml").write_text(
        '[ingest]\nignore = ["ms"]\n'
        'metrics = { MiB = { unit = "GiB", better = "lower", threshold = "7%" } }\n'
    )
    (one,) = judged(capsys, base, head)["series"]
    assert (one["unit"], one["better"], one["threshold_pct"]) == ("GiB", "lower", 7.0)
    assert one["base_value"] == pytest.approx(900 / 1024)
    (one,) = judged(capsys, base, head, "--metric", "MiB=MiB,higher")["series"]
    assert (one["unit"], one["better"]) == ("MiB", "higher")


def test_samples_of_a_workload_mean_what_the_workload_declares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ciwm.toml").write_text(
        '[[workload]]\nid = "w"\ncommand = "x {out}"\n'
        'metrics = { rate = { unit = "tokens/s", better = "higher" } }\n'
    )
    paths = []
    for name, value in (("base", 100.0), ("head", 90.0)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"rate": [value] * 3}))
        paths.append(path)
    (one,) = judged(capsys, paths[:1], paths[1:])["series"]
    assert (one["unit"], one["better"]) == ("tokens/s", "higher")
    assert one["ratio"] == pytest.approx(0.9)


def test_two_baselines_in_one_folder_and_two_commits_in_one_file_are_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = OUTPUTS / "criterion"
    verdict = judged(capsys, [Path(f"{folder}#base")], [Path(f"{folder}#main")])
    assert len(verdict["series"]) == 3
    history = OUTPUTS / "github-action-benchmark.js"
    verdict = judged(capsys, [Path(f"{history}#aaaa")], [Path(f"{history}#bbbb")], code=1)
    (fib,) = [one for one in verdict["series"] if one["series"] == "Rust/fib_20"]
    assert fib["ratio"] == pytest.approx(38523 / 37174)


def test_a_run_of_ours_is_compared_with_the_samples_of_a_workload(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.json"
    run.write_text(RunBuilder().blocks(4, 1.0, 1.0).run().to_json())
    samples = tmp_path / "samples.json"
    entry = {"series": "decode/b1", "metric": "step_time", "values": [1.5, 1.5], "unit": "s"}
    samples.write_text(json.dumps({"samples": [{**entry, "better": "lower"}]}))
    verdict = judged(capsys, [run], [samples])
    (one,) = verdict["series"]
    assert one["outcome"] == "inconclusive"
    assert one["ratio"] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--base", "a.json", "--head", "a.json"], "a.json is named for base and for head"),
        (["--base", "a.json", "--head", "./a.json"], "./a.json is named for base and for head"),
        (
            ["--base", "a.json", "--base", "./a.json", "--head", "b.json", "--trust-separate"],
            "./a.json is named twice for base: it is one launch",
        ),
        (["--base", "a.json", "--head", "b.json", "--format", "x"], "no format 'x'"),
        (["--base", "a.json", "--head", "b.json", "--metric", "q=s"], "--metric q=s: write"),
        (["--base", "a.json", "--head", "b.json", "--metric", "q=s,up"], "--metric q=s,up: write"),
        (["--base", "a.json", "--head", "b.json", "--ignore", "*"], "nothing that is judged"),
        (
            ["--base", "a.json", "--head", "b.json", "--metric", "p99_ttf"],
            "--metric p99_ttf: no file has a metric of this name",
        ),
        (["run.json", "--format", "asv"], "--format, --metric and --ignore are for --base"),
        (["--base", "c.json", "--head", "b.json"], "c.json is not whole JSON"),
    ],
)
def test_a_wrong_call_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    for name in ("a.json", "b.json"):
        shutil.copy(OUTPUTS / "vllm-throughput.json", tmp_path / name)
    (tmp_path / "c.json").write_text('{"elapsed_time": 1')
    assert ciwm(["gate", *arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert said in lines[0]


def test_files_beyond_whole_blocks_are_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "vllm-throughput.json"
    base, head = copies(tmp_path / "base", name, 5), copies(tmp_path / "head", name, 4)
    verdict = judged(capsys, base, head)
    assert verdict["series"][0]["launches"] == {"base": 4, "head": 4}
    assert any("left out" in line and "(1 base, 0 head)" in line for line in verdict["problems"])


def test_the_markdown_of_files_measured_apart_promises_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = copies(tmp_path / "base", "pytest-benchmark.json", 4, times(1.0, 1))
    head = copies(tmp_path / "head", "pytest-benchmark.json", 4, times(1.0, 2))
    arguments = ["gate", *named("base", base), *named("head", head), "--markdown"]
    for more in ([], ["--trust-separate"]):
        assert ciwm([*arguments, *more]) == 0
        shown = capsys.readouterr().out
        assert "Measured apart: nothing bounds false alarms." in shown
        assert "At most" not in shown
