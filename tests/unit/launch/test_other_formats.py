"""`command` workloads whose command is another benchmark tool."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ciwm.config import Config, GateConfig
from ciwm.errors import ConfigError
from ciwm.launch.command import ResultError, out_file, read_samples, script
from ciwm.launch.series import family
from tests.fork import workload

OUTPUTS = Path(__file__).parents[2] / "tool_outputs"
TIME = {"time": {"unit": "ms", "better": "lower"}}
SORTS = ("test_sort.py::test_sort[10]", "test_sort.py::test_sort[1000]")


def tool(form: str, metrics: dict[str, Any], **fields: Any) -> Any:
    given = {"id": "w", "command": "run {out}", "format": form, "metrics": metrics, **fields}
    return workload(**given)


def wrote(folder: Path, name: str, number: int = 0) -> Path:
    """The folder of a launch whose command wrote that output."""
    target = out_file(folder, number)
    source = OUTPUTS / name
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
    return folder


def test_a_tool_with_one_benchmark_gives_the_series_its_values_in_the_declared_unit(
    tmp_path: Path,
) -> None:
    metrics = {"ttft": {"unit": "ms", "better": "lower"}}
    wrote(tmp_path, "vllm-serve-detailed.json")
    (samples,) = read_samples(tool("vllm-serve", metrics), tmp_path)
    stated = json.loads((OUTPUTS / "vllm-serve-detailed.json").read_text())
    assert (samples.series, samples.metric, samples.aggregate) == ("w", "ttft", "")
    assert samples.values == pytest.approx([1e3 * value for value in stated["ttfts"]])


def test_quantiles_are_taken_when_declared_and_marked(tmp_path: Path) -> None:
    metrics = {"p99_ttft": {"unit": "ms", "better": "lower"}}
    wrote(tmp_path, "vllm-serve.json")
    (samples,) = read_samples(tool("vllm-serve", metrics), tmp_path)
    assert samples.values == pytest.approx((48.15619855035038,))
    assert samples.aggregate == "p99 of 6 requests"


def test_failed_requests_are_judged_or_refused_and_never_left_out(tmp_path: Path) -> None:
    metrics = {"request_throughput": {"unit": "requests/s", "better": "higher"}}
    wrote(tmp_path, "vllm-serve-failed.json")
    failed = json.loads((OUTPUTS / "vllm-serve-failed.json").read_text())["failed"]
    assert failed > 0
    with pytest.raises(ResultError, match=f"{failed} of its requests failed, and other figures"):
        read_samples(tool("vllm-serve", metrics), tmp_path)

    declared = {"unit": "requests", "better": "lower", "threshold_abs": 1}
    found = read_samples(tool("vllm-serve", {**metrics, "failed_requests": declared}), tmp_path)
    assert {one.metric: one.values for one in found}["failed_requests"] == (failed,)


def test_each_benchmark_that_is_named_is_a_series_and_others_are_left_out(tmp_path: Path) -> None:
    one = tool("pytest-benchmark", TIME, benchmarks=[SORTS[1]])
    assert [series.series for series in family([one], GateConfig())] == [f"w/{SORTS[1]}"]
    wrote(tmp_path, "pytest-benchmark.json")
    (samples,) = read_samples(one, tmp_path)
    assert samples.series == f"w/{SORTS[1]}"
    assert len(samples.values) == 7


def test_processes_of_a_tool_are_iterations_of_the_launch_that_ran_it(tmp_path: Path) -> None:
    one = tool("pyperf", TIME, benchmarks=["sum", "sorted"])
    found = read_samples(one, wrote(tmp_path, "pyperf.json"))
    assert [(samples.series, len(samples.values)) for samples in found] == [
        ("w/sum", 9),
        ("w/sorted", 9),
    ]


def test_parameters_and_benchmarks_make_a_matrix(tmp_path: Path) -> None:
    one = tool(
        "pytest-benchmark", TIME, command="run {n} {out}", params={"n": [1, 2]}, benchmarks=SORTS
    )
    assert len(script(one, {}, tmp_path).splitlines()) == 2
    wrote(tmp_path, "pytest-benchmark.json")
    wrote(tmp_path, "pytest-benchmark.json", 1)
    found = [samples.series for samples in read_samples(one, tmp_path)]
    assert found == [f"w/n={n}/{name}" for n in (1, 2) for name in SORTS]


def test_a_folder_may_be_what_a_tool_writes(tmp_path: Path) -> None:
    metrics = {"itl": {"unit": "s", "better": "lower"}}
    (samples,) = read_samples(tool("aiperf", metrics), wrote(tmp_path, "aiperf"))
    assert len(samples.values) == 72


@pytest.mark.parametrize(
    ("form", "metrics", "name", "said"),
    [
        (
            "pytest-benchmark",
            TIME,
            "pytest-benchmark.json",
            "hold 2 benchmarks (test_sort.py::test_sort[10], test_sort.py::test_sort[1000]): name",
        ),
        ("pyperf", TIME, "hyperfine.json", "{out} cannot be read as pyperf: "),
        (
            "vllm-throughput",
            {"request_throughput": {"unit": "requests/s", "better": "lower"}},
            "vllm-throughput.json",
            "lower is stated to be better, and by its format higher",
        ),
        (
            "vllm-throughput",
            {"request_throughput": {"unit": "s", "better": "higher"}},
            "vllm-throughput.json",
            "is in requests/s, which cannot be told in s",
        ),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, form: str, metrics: dict[str, Any], name: str, said: str
) -> None:
    wrote(tmp_path, name)
    with pytest.raises(ResultError) as caught:
        read_samples(tool(form, metrics), tmp_path)
    assert said in str(caught.value)


def test_a_benchmark_that_failed_fails_the_launch_by_its_own_words(tmp_path: Path) -> None:
    metrics = {"real_time": {"unit": "s", "better": "lower"}}
    one = tool("google-benchmark", metrics, benchmarks=["broken", "micro"])
    with pytest.raises(ResultError, match="broken: no device"):
        read_samples(one, wrote(tmp_path, "google-benchmark.json"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"python": "a.py:f", "format": "go"}, "are for what a command writes"),
        ({"command": "x {out}", "benchmarks": ["a"]}, "state its format"),
        ({"command": "x {out}", "format": "gotest"}, "format"),
    ],
)
def test_a_format_that_cannot_be_is_an_error_of_the_configuration(
    fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        Config.model_validate({"workload": [{"id": "w", "metrics": TIME, **fields}]})


def test_a_benchmark_named_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match="the same series twice: a"):
        family([tool("go", TIME, benchmarks=["a", "a"])], GateConfig())
