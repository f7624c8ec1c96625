"""Files that are missing, empty, cut short, of another version or of no format: one line each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.config import MetricConfig
from ciwm.errors import UsageError
from ciwm.ingest import Stated, read_file, settled
from ciwm.ingest.units import factor

if TYPE_CHECKING:
    from collections.abc import Callable

OUTPUTS = Path(__file__).parents[2] / "tool_outputs"
JSON = (
    "pytest-benchmark.json",
    "google-benchmark.json",
    "hyperfine.json",
    "pyperf.json",
    "asv/results/machine/32f7f39d-existing-py.json",
    "nvbench.json",
    "vllm-serve.json",
    "vllm-latency.json",
    "aiperf/profile_export_aiperf.json",
    "torch-operator.json",
)


def refusal(path: Path, name: str | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        read_file(path, name)
    message = caught.value.message
    assert "\n" not in message
    assert str(path) in message
    return message


@pytest.mark.parametrize("name", JSON)
def test_a_file_cut_short_is_told_as_such(tmp_path: Path, name: str) -> None:
    text = (OUTPUTS / name).read_text()
    path = tmp_path / "cut.json"
    path.write_text(text[: len(text) // 2])
    assert "is not whole JSON" in refusal(path)


@pytest.mark.parametrize("text", ["", " \n", "\ufeff"])
def test_an_empty_file_is_told_as_such(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out.json"
    path.write_text(text)
    assert "is empty" in refusal(path)
    assert "is empty" in refusal(path, "pyperf")


def test_a_line_cut_short_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sglang.jsonl"
    path.write_text((OUTPUTS / "sglang.jsonl").read_text()[:-40])
    assert "line 2" in refusal(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"hello world\n", "is in no format that ciwm knows"),
        (b'{"what": "ever"}', "is in no format that ciwm knows"),
        (b"[]", "is in no format that ciwm knows"),
        (b"[" * 100_000, "is nested too deeply"),
        (gzip.compress(b"{}", mtime=0)[:-4], "cannot read"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert said in refusal(path)


def test_a_folder_of_nothing_is_refused(tmp_path: Path) -> None:
    assert "is in no format" in refusal(tmp_path)
    assert "cannot read" in refusal(tmp_path, "pyperf")


def _other_version(data: Any) -> None:
    data["version"] = 9


def _no_stats(data: Any) -> None:
    del data["benchmarks"][0]["stats"]


def _nan(data: Any) -> None:
    data["benchmarks"][0]["stats"]["data"][1] = float("nan")


def _text(data: Any) -> None:
    data["benchmarks"][0]["real_time"] = "fast"


def _unit(data: Any) -> None:
    data["benchmarks"][0]["time_unit"] = "jiffies"


def _none_left(data: Any) -> None:
    data["benchmarks"] = []


def _twice(data: Any) -> None:
    data["benchmarks"].append(data["benchmarks"][0])


def _lists_that_differ(data: Any) -> None:
    data["ttfts"].pop()


def _none_completed(data: Any) -> None:
    data["completed"], data["failed"] = 0, 6


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("asv/results/machine/32f7f39d-existing-py.json", _other_version, "version is 9, not 2"),
        ("pyperf.json", _other_version, "version is 9, not 1.0"),
        ("pytest-benchmark.json", _no_stats, "benchmarks[0].stats is missing"),
        ("pytest-benchmark.json", _nan, "benchmarks[0].stats.data[1] is nan"),
        ("pytest-benchmark.json", _none_left, "holds no results"),
        ("pytest-benchmark.json", _twice, "test_sort.py::test_sort[10] time twice"),
        ("google-benchmark.json", _text, 'benchmarks[0].real_time is no number: "fast"'),
        ("google-benchmark.json", _unit, "time_unit is 'jiffies'"),
        ("vllm-serve-detailed.json", _lists_that_differ, "are not of one length"),
    ],
)
def test_another_layout_is_named_by_its_place(
    tmp_path: Path, name: str, change: Callable[[Any], None], said: str
) -> None:
    data = json.loads((OUTPUTS / name).read_text())
    change(data)
    path = tmp_path / "other.json"
    path.write_text(json.dumps(data))
    assert said in refusal(path)


def test_a_load_of_which_no_request_was_completed_is_a_failure(tmp_path: Path) -> None:
    data = json.loads((OUTPUTS / "vllm-serve.json").read_text())
    _none_completed(data)
    path = tmp_path / "serve.json"
    path.write_text(json.dumps(data))
    (one,) = read_file(path).measured
    assert one.failure == "no request was completed, 6 failed"


def test_a_cancelled_run_of_aiperf_is_refused(tmp_path: Path) -> None:
    data = json.loads((OUTPUTS / "aiperf/profile_export_aiperf.json").read_text())
    data["was_cancelled"] = True
    path = tmp_path / "profile_export_aiperf.json"
    path.write_text(json.dumps(data))
    assert "the run was cancelled" in refusal(path)


def test_a_summary_rounded_to_nothing_is_refused() -> None:
    """The stand-in server's tokens came in bursts: half of the gaps are below 5 us."""
    message = refusal(OUTPUTS / "aiperf" / "profile_export_aiperf.csv")
    assert "the CSV is rounded, give the JSON" in message


def test_samples_of_nvbench_that_are_not_beside_the_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "nvbench.json"
    path.write_text((OUTPUTS / "nvbench-samples.json").read_text())
    assert "nvbench-bin/0.bin, which is not there" in refusal(path)


def test_a_table_of_nccl_tests_without_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nccl.txt"
    lines = (OUTPUTS / "nccl-tests.txt").read_text().splitlines()
    path.write_text("\n".join(line for line in lines if line.startswith("#")))
    assert "no row under it" in refusal(path)


def test_a_format_that_is_named_counts(tmp_path: Path) -> None:
    assert "cannot be read as pyperf" in refusal(OUTPUTS / "hyperfine.json", "pyperf")
    with pytest.raises(UsageError, match="no format 'speed'") as caught:
        read_file(OUTPUTS / "hyperfine.json", "speed")
    assert caught.value.hint.endswith("samples-json, samples-csv")
    with pytest.raises(UsageError, match="there is no "):
        read_file(tmp_path / "nowhere")


def google(metrics: dict[str, MetricConfig | None], ignore: tuple[str, ...] = ()) -> set[str]:
    reading = read_file(OUTPUTS / "google-benchmark.json")
    return {one.metric for one in settled(reading.measured, Stated(metrics, ignore), "gb.json")}


def test_an_unknown_direction_is_an_error_with_the_fix() -> None:
    with pytest.raises(UsageError, match="whether more or less of custom is better") as caught:
        google({})
    assert "--metric custom=UNIT,higher (or lower)" in caught.value.hint
    assert "--ignore custom" in caught.value.hint


def test_what_is_stated_or_ignored_is_no_error_and_extras_are_read_when_named() -> None:
    custom = MetricConfig(unit="things", better="higher")
    assert google({"custom": custom}) == {"real_time", "custom"}
    assert google({}, ("cust*",)) == {"real_time"}
    assert google({"*_per_second": None}, ("custom",)) == {"real_time", "items_per_second"}


def test_a_direction_or_unit_that_the_format_contradicts_is_an_error() -> None:
    with pytest.raises(UsageError, match="higher is stated to be better, and by its format lower"):
        google({"real_time": MetricConfig(unit="s", better="higher")}, ("custom",))
    with pytest.raises(UsageError, match="is in s, which cannot be told in tokens/s"):
        google({"real_time": MetricConfig(unit="tokens/s", better="lower")}, ("custom",))


@pytest.mark.parametrize(
    ("unit", "wanted", "times"),
    [("ms", "s", 1e-3), ("GiB", "MiB", 1024), ("GB/s", "B/s", 1e9), ("s", "B", None)],
)
def test_units_of_one_kind_are_converted(unit: str, wanted: str, times: float | None) -> None:
    found = factor(unit, wanted)
    assert found == (None if times is None else pytest.approx(times))


def changed(folder: Path, name: str, value: Any, *way: Any) -> Path:
    """A copy of a tool's output with another value at a place; None there is the first key."""
    data = at = json.loads((OUTPUTS / name).read_text())
    for key in way[:-1]:
        at = at[next(iter(at)) if key is None else key]
    at[way[-1]] = value
    path = folder / "out.json"
    path.write_text(json.dumps(data))
    return path


def test_a_value_of_another_kind_is_an_answer_and_no_crash(tmp_path: Path) -> None:
    asv = "asv/results/machine/32f7f39d-existing-py.json"
    found = read_file(changed(tmp_path, asv, True, "results", None, 0))  # noqa: FBT003  JSON
    assert found.measured[0].failure == "asv could not run it"

    place = ("benchmarks", 0, "states", 0, "name")
    assert "name is no text: 1.5" in refusal(changed(tmp_path, "nvbench.json", 1.5, *place))

    many = read_file(changed(tmp_path, "vllm-serve.json", 10**400, "request_rate"))
    assert "rate=1000" in many.measured[0].series


def test_a_quotient_beyond_all_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "benchmark.json").write_text('{"full_id": "fold"}')
    (tmp_path / "sample.json").write_text('{"times": [1e300], "iters": [1e-300]}')
    found = read_file(tmp_path / "sample.json")
    with pytest.raises(UsageError, match="fold time has a value that is no finite number"):
        settled(found.measured, Stated(), "sample.json")
