"""Each format by an output of its tool: values against the figures that the tool itself states."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any, get_args

import pytest

from ciwm.config import Format
from ciwm.ingest import FORMATS, Measured, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTPUTS = Path(__file__).parents[2] / "tool_outputs"
EVERY = {
    "pytest-benchmark.json": "pytest-benchmark",
    "pytest-benchmark-saved.json": "pytest-benchmark",
    "google-benchmark.json": "google-benchmark",
    "google-benchmark-repetitions.json": "google-benchmark",
    "google-benchmark-aggregates.json": "google-benchmark",
    "google-benchmark-complexity.json": "google-benchmark",
    "asv/results/machine/32f7f39d-existing-py.json": "asv",
    "hyperfine.json": "hyperfine",
    "hyperfine.csv": "hyperfine",
    "hyperfine-failed.json": "hyperfine",
    "pyperf.json": "pyperf",
    "criterion": "criterion",
    "criterion/fold 100/main/sample.json": "criterion",
    "go.txt": "go",
    "go-count-2.txt": "go",
    "nvbench.json": "nvbench",
    "nvbench-samples.json": "nvbench",
    "github-action-benchmark.js": "github-action-benchmark",
    "github-action-benchmark-custom.json": "github-action-benchmark",
    "vllm-serve.json": "vllm-serve",
    "vllm-serve-detailed.json": "vllm-serve",
    "vllm-throughput.json": "vllm-throughput",
    "vllm-latency.json": "vllm-latency",
    "sglang.jsonl": "sglang",
    "sglang-details.jsonl": "sglang",
    "aiperf": "aiperf",
    "aiperf/profile_export_aiperf.json": "aiperf",
    "aiperf/profile_export.jsonl": "aiperf",
    "nccl-tests.txt": "nccl-tests",
    "torch-operator.json": "torch-operator",
    "torch-operator-dashboard.json": "torch-operator",
    "torch-operator.csv": "torch-operator",
}


def of(name: str, part: str = "") -> Mapping[tuple[str, str], Measured]:
    found = read_file(OUTPUTS / name, part=part).measured
    return {(one.series, one.metric): one for one in found}


def document(name: str) -> Any:
    return json.loads((OUTPUTS / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "expected"), EVERY.items())
def test_a_file_is_recognised_for_what_it_is_and_for_nothing_else(name: str, expected: str) -> None:
    assert read_file(OUTPUTS / name).format == expected


def test_the_configuration_knows_the_same_formats() -> None:
    assert set(get_args(Format)) == set(FORMATS)


@pytest.mark.parametrize("name", EVERY)
def test_every_value_has_a_unit_and_what_has_no_direction_is_the_users_own(name: str) -> None:
    users_own = ("custom", "items/s", "value", "ms", "MiB")
    for one in read_file(OUTPUTS / name).measured:
        assert one.launches or one.failure
        assert one.better is not None or one.metric in users_own
        assert one.unit or one.better is None


def test_rounds_of_pytest_benchmark_have_the_median_that_it_states() -> None:
    stated = document("pytest-benchmark.json")["benchmarks"]
    found = of("pytest-benchmark.json")
    for entry in stated:
        (launch,) = found[entry["fullname"], "time"].launches
        assert len(launch) == entry["stats"]["rounds"] == 7
        assert median(launch) == pytest.approx(entry["stats"]["median"])


def test_without_rounds_its_median_is_an_aggregate() -> None:
    (entry, _) = document("pytest-benchmark-saved.json")["benchmarks"]
    one = of("pytest-benchmark-saved.json")[entry["fullname"], "time"]
    assert one.launches == ((entry["stats"]["median"],),)
    assert one.aggregate == "median of 7 rounds"


def test_repetitions_of_google_benchmark_are_samples_and_a_single_one_is_not() -> None:
    (launch,) = of("google-benchmark-repetitions.json")["sort/64", "real_time"].launches
    stated = {
        entry.get("aggregate_name"): entry["real_time"] * 1e-9
        for entry in document("google-benchmark-repetitions.json")["benchmarks"]
        if entry["run_name"] == "sort/64"
    }
    assert len(launch) == 4
    assert median(launch) == pytest.approx(stated["median"])
    single = of("google-benchmark.json")["sort/64", "real_time"]
    assert single.aggregate == "mean of 20954 iterations"
    only = of("google-benchmark-aggregates.json")["sort/64", "real_time"]
    assert only.aggregate == "median of 4 repetitions"


def test_its_unit_of_time_is_undone_and_its_errors_are_failures() -> None:
    found = of("google-benchmark.json")
    assert found["micro", "real_time"].launches[0][0] == pytest.approx(22.4497835e-6)  # "us"
    assert found["broken", "real_time"].failure == "no device"
    assert found["sort/64", "custom"].better is None
    assert found["sort/64", "items_per_second"].better == "higher"


def test_a_fitted_complexity_of_google_benchmark_is_no_benchmark() -> None:
    series = dict.fromkeys(series for series, _ in of("google-benchmark-complexity.json"))
    assert list(series) == ["grows/64", "grows/256", "grows/1024"]


def test_a_rate_that_jmh_counts_has_no_direction_by_its_tool(tmp_path: Path) -> None:
    """github-action-benchmark alerts on whatever rises of jmh's figures, and ops/s are such."""
    benches = [
        {"name": "rate", "value": 9.0, "unit": "ops/s"},
        {"name": "time", "value": 9.0, "unit": "ns/op"},
    ]
    entry = {"commit": {"id": "c"}, "tool": "jmh", "benches": benches}
    path = tmp_path / "data.json"
    path.write_text(json.dumps({"lastUpdate": 1, "entries": {"suite": [entry]}}))
    found = {one.series: one.better for one in read_file(path).measured}
    assert found == {"suite/rate": None, "suite/time": "lower"}


def test_what_google_benchmark_skipped_has_no_time(tmp_path: Path) -> None:
    """As its JSONReporter writes SkipWithMessage since 1.8: with a time of zero."""
    data = document("google-benchmark.json")
    (entry,) = [one for one in data["benchmarks"] if one["name"] == "broken"]
    del entry["error_occurred"], entry["error_message"]
    entry |= {"skipped": True, "skip_message": "no device", "real_time": 0.0, "cpu_time": 0.0}
    path = tmp_path / "skipped.json"
    path.write_text(json.dumps(data))
    series = {one.series for one in read_file(path).measured}
    assert "broken" not in series
    assert "micro" in series


def test_samples_of_asv_have_the_median_that_it_states_and_units_are_those_of_its_kinds() -> None:
    name = "asv/results/machine/32f7f39d-existing-py.json"
    found, stated = of(name), document(name)["results"]
    (launch,) = found["suite.time_plain", "time"].launches
    assert median(launch) == pytest.approx(stated["suite.time_plain"][0][0])
    assert found["suite.Suite.time_sum(1000, 'a')", "time"].unit == "s"
    assert found["suite.peakmem_list", "peak_memory"].unit == "B"
    assert found["suite.track_ratio", "value"].unit == "points"
    assert found["suite.track_ratio", "value"].better is None
    assert found["suite.time_broken", "time"].failure
    assert found["suite.Suite.time_sum(1000, 'b')", "time"].failure


def test_each_run_of_hyperfine_is_a_launch() -> None:
    (first, *_) = document("hyperfine.json")["results"]
    one = of("hyperfine.json")["named", "time"]
    assert [values for (values,) in one.launches] == first["times"]
    assert of("hyperfine.csv")["named", "time"].launches[0][0] == pytest.approx(first["median"])


def test_a_command_that_failed_has_no_time() -> None:
    one = of("hyperfine-failed.json")["false 1", "time"]
    assert one.failure == "3 of its runs failed (exit status 1)"
    assert one.launches == ()


def test_each_process_of_pyperf_is_a_launch_and_warmups_are_left_out() -> None:
    one = of("pyperf.json")["sorted", "time"]
    runs = document("pyperf.json")["benchmarks"][1]["runs"]
    assert [list(launch) for launch in one.launches] == [
        run["values"] for run in runs if "values" in run
    ]
    assert len(one.launches) == 3


def test_a_packed_file_of_pyperf_is_read(tmp_path: Path) -> None:
    import gzip  # noqa: PLC0415

    path = tmp_path / "pyperf.json.gz"
    path.write_bytes(gzip.compress((OUTPUTS / "pyperf.json").read_bytes()))
    assert read_file(path).measured == read_file(OUTPUTS / "pyperf.json").measured


def test_a_sample_of_criterion_is_its_time_over_its_iterations() -> None:
    estimate = document("criterion/fold/f/1000/new/estimates.json")["median"]["point_estimate"]
    (launch,) = of("criterion")["fold/f/1000", "time"].launches
    assert median(launch) == pytest.approx(estimate * 1e-9, rel=1e-6)


def test_a_baseline_of_criterion_is_named_after_the_folder() -> None:
    times = document("criterion/fold 100/base/sample.json")
    (launch,) = of("criterion", part="base")["fold 100", "time"].launches
    assert launch[0] == pytest.approx(times["times"][0] / times["iters"][0] * 1e-9)


def test_lines_of_one_go_benchmark_are_samples_of_one_launch() -> None:
    found = of("go-count-2.txt")
    one = found["example.org/codec.BenchmarkJoin/n=3-2", "time"]
    assert one.launches[0] == pytest.approx((41.34e-9, 36.35e-9))
    assert len(one.launches) == 1
    assert found["example.org/codec.BenchmarkJoin/n=3-2", "allocated"].launches == ((24, 24),)
    assert found["example.org/codec.BenchmarkBad-2", "time"].failure == (
        "codec_test.go:9: no device"
    )
    alone = of("go.txt")["example.org/codec.BenchmarkJoin/n=3-2", "time"]
    assert alone.aggregate == "mean of 270115 iterations"


def test_outputs_of_several_go_runs_in_one_file_are_launches(tmp_path: Path) -> None:
    path = tmp_path / "bench.txt"
    path.write_text((OUTPUTS / "go.txt").read_text() * 3)
    found = {one.series: one for one in read_file(path).measured if one.metric == "time"}
    assert len(found["example.org/codec.BenchmarkCustom-2"].launches) == 3


def test_a_unit_line_of_go_tells_the_direction(tmp_path: Path) -> None:
    path = tmp_path / "bench.txt"
    path.write_text(
        "Unit items/s assume=nothing better=higher\n" + (OUTPUTS / "go.txt").read_text()
    )
    found = {one.metric: one for one in read_file(path).measured}
    assert found["items/s"].better == "higher"


def test_binary_samples_of_nvbench_are_read_and_its_median_is_an_aggregate() -> None:
    (launch,) = of("nvbench-samples.json")["copy BlockSize=2^8", "gpu_time"].launches
    assert launch == pytest.approx((1.0e-5, 1.1e-5, 1.3e-5))
    summary = of("nvbench.json")
    assert summary["copy BlockSize=2^8", "gpu_time"].aggregate == "median of all samples"
    assert summary["copy BlockSize=2^9", "gpu_time"].failure == "Deadlock risk"


def test_the_newest_entry_of_each_suite_is_read_or_that_of_a_commit() -> None:
    newest = of("github-action-benchmark.js")
    assert newest["Rust/fib_20", "time"].launches[0] == pytest.approx((38523e-9,))
    assert newest["Python/bench.py::test_fib", "iter/sec"].better == "higher"
    assert newest["Serving/tokens", "tok/s"].better == "higher"
    older = of("github-action-benchmark.js", part="aaaa111")
    assert older["Rust/fib_20", "time"].launches[0] == pytest.approx((37174e-9,))
    custom = of("github-action-benchmark-custom.json")
    assert custom["Memory", "MiB"].better is None
    assert all(one.aggregate for one in (*newest.values(), *custom.values()))


def test_latencies_of_vllm_have_the_figures_that_it_states() -> None:
    name = "vllm-serve-detailed.json"
    found, stated = of(name), document(name)
    series = "tiny rate=inf concurrency=2"
    for metric, theirs in (("ttft", "ttft"), ("tpot", "tpot"), ("itl", "itl")):
        (launch,) = found[series, metric].launches
        assert mean(launch) == pytest.approx(stated[f"mean_{theirs}_ms"] / 1e3)
        assert median(launch) == pytest.approx(stated[f"median_{theirs}_ms"] / 1e3)
    (latencies,) = found[series, "e2e_latency"].launches
    assert latencies == pytest.approx(stated["latencies"], rel=1e-3)


def test_requests_that_failed_are_counted_and_not_timed() -> None:
    name = "vllm-serve-failed.json"
    found, stated = of(name), document(name)
    series = "tiny rate=inf concurrency=2"
    assert found[series, "failed_requests"].launches == ((2.0,),)
    (launch,) = found[series, "ttft"].launches
    assert len(launch) == stated["completed"] == 4
    assert mean(launch) == pytest.approx(stated["mean_ttft_ms"] / 1e3)


def test_without_details_latencies_are_aggregates_and_quantiles_are_read_on_request() -> None:
    found, stated = of("vllm-serve.json"), document("vllm-serve.json")
    series = "tiny rate=inf concurrency=2"
    assert found[series, "ttft"].launches == ((stated["median_ttft_ms"] / 1e3,),)
    assert found[series, "ttft"].aggregate == "median of 6 requests"
    assert found[series, "p99_ttft"].extra
    assert not found[series, "request_throughput"].aggregate  # one measurement, of nothing else


def test_each_line_of_sglang_is_a_launch_with_the_figures_that_it_states() -> None:
    lines = (OUTPUTS / "sglang-details.jsonl").read_text().splitlines()
    stated = [json.loads(line) for line in lines]
    found = of("sglang-details.jsonl")
    for metric in ("ttft", "tpot", "itl", "e2e_latency"):
        launches = found["random rate=inf concurrency=4", metric].launches
        for launch, run in zip(launches, stated, strict=True):
            assert mean(launch) * 1e3 == pytest.approx(run[f"mean_{metric}_ms"])


def test_aiperf_and_vllm_mean_the_same_by_tpot_and_itl() -> None:
    """AIPerf calls them inter token latency and inter chunk latency."""
    stated = document("aiperf/profile_export_aiperf.json")
    found = of("aiperf")
    for metric, theirs in (
        ("ttft", "time_to_first_token"),
        ("tpot", "inter_token_latency"),
        ("itl", "inter_chunk_latency"),
        ("e2e_latency", "request_latency"),
    ):
        (launch,) = found["tiny", metric].launches
        assert mean(launch) * 1e3 == pytest.approx(stated[theirs]["avg"])
        assert median(launch) * 1e3 == pytest.approx(stated[theirs]["p50"])
    (record, *_) = (OUTPUTS / "aiperf/profile_export.jsonl").read_text().splitlines()
    metrics = json.loads(record)["metrics"]
    decode_ms = metrics["request_latency"]["value"] - metrics["time_to_first_token"]["value"]
    tokens = metrics["output_sequence_length"]["value"]
    (tpots,) = found["tiny", "tpot"].launches
    assert tpots[0] == pytest.approx(decode_ms / (tokens - 1) / 1e3)


def test_requests_that_failed_under_aiperf_are_counted() -> None:
    found = of("aiperf-failed")
    assert found["tiny", "failed_requests"].launches == ((2.0,),)
    assert len(found["tiny", "ttft"].launches[0]) == 4


def test_a_row_of_nccl_tests_is_a_time_and_a_bus_bandwidth() -> None:
    found = of("nccl-tests.txt")
    series = "all_reduce float sum 1073741824 B"
    (time,) = found[series, "out_of_place_time"].launches[0]
    (bandwidth,) = found[series, "out_of_place_busbw"].launches[0]
    # by definition size / time * 2 (n - 1) / n, and there are two ranks
    assert bandwidth == pytest.approx(2**30 / time, rel=1e-3)
    assert found[series, "out_of_place_time"].aggregate == "mean of 20 iterations"


def test_wrong_values_of_a_collective_are_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "nccl.txt"
    text = (OUTPUTS / "nccl-tests.txt").read_text()
    path.write_text(text.replace("98.44       0", "98.44      12"))
    found = {(one.series, one.metric): one for one in read_file(path).measured}
    wrong = found["all_reduce float sum 1073741824 B", "out_of_place_time"]
    assert wrong.failure == "12 values were wrong"


def test_the_three_outputs_of_torchs_operator_benchmark_say_the_same() -> None:
    values = {
        name: next(one.launches for one in read_file(OUTPUTS / name).measured)
        for name in ("torch-operator.json", "torch-operator-dashboard.json", "torch-operator.csv")
    }
    assert [one[0] for one in values.values()] == [pytest.approx((51.234e-6,))] * 3
    memory = of("torch-operator.csv")["add_M64_N64_K64_cuda_BACKWARD", "peak_memory"]
    assert memory.launches == ((3 * 2**20,),)  # 3072 KB of 1,024 bytes
