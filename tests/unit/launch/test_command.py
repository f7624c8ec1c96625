from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from ciwm.config import WorkloadConfig
from ciwm.launch.command import ResultError, out_file, read_samples, script

VALUES = {"build": "/b with space", "python": "/b/python", "workloads": "/w"}


def workload(command: str = "run {out}", **fields: Any) -> WorkloadConfig:
    metrics = {name: {"unit": "s", "better": "lower"} for name in ("ttft", "itl")}
    return WorkloadConfig.model_validate(
        {"id": "w", "command": command, "metrics": metrics, **fields}
    )


def result(folder: Path, data: object) -> None:
    out_file(folder, 0).write_text(data if isinstance(data, str) else json.dumps(data))


def test_placeholders_are_quoted_and_other_braces_stay() -> None:
    text = script(workload("{build}/run ${HOME} {awk} '{print $1}' > {out}"), VALUES, Path("/l"))

    assert text == "'/b with space'/run ${HOME} {awk} '{print $1}' > /l/out-0.json"


def test_a_parameter_cannot_break_out_of_its_word() -> None:
    evil = "x; rm -rf /"

    text = script(workload("run {name} {out}", params={"name": [evil]}), VALUES, Path("/l"))

    assert shlex.split(text) == ["run", evil, "/l/out-0.json"]


def test_each_case_is_a_line_with_a_file_of_its_own() -> None:
    text = script(workload("run {n} {out}", params={"n": [1, 2]}), VALUES, Path("/l"))

    assert text.splitlines() == ["run 1 /l/out-0.json", "run 2 /l/out-1.json"]


def test_both_forms_of_results_mean_the_same(tmp_path: Path) -> None:
    result(tmp_path, {"ttft": [1, 2], "itl": 3, "undeclared": "text"})
    short = read_samples(workload(), tmp_path)
    result(
        tmp_path,
        {"samples": [{"metric": "ttft", "values": [1, 2]}, {"metric": "itl", "values": [3]}]},
    )

    assert read_samples(workload(), tmp_path) == short
    assert [(one.metric, one.values) for one in short] == [("ttft", (1.0, 2.0)), ("itl", (3.0,))]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "{out} is empty"),
        ("{", "not whole JSON"),
        ("[" * 100_000, "nested too deeply"),
        ([], "not a JSON object"),
        ({}, "not a JSON object"),
        ({"ttft": []}, "w ttft has no values"),
        ({"ttft": ["1"]}, 'w ttft is no number: "1"'),
        ({"ttft": True}, "w ttft is no number: true"),
        ({"ttft": None}, "w ttft is no number: null"),
        ('{"ttft": NaN}', "w ttft is nan"),
        ('{"ttft": 1e999}', "w ttft is inf"),
        ({"samples": {}}, "samples is not a list"),
        ({"samples": [{"values": [1]}]}, "not an object with a metric"),
        ({"samples": [{"metric": "ttft"}]}, "the sample of ttft has no values"),
        ({"samples": [{"metric": "ttft", "values": [1], "units": "s"}]}, "unknown key 'units'"),
        ({"samples": [{"metric": "ttft", "values": 1, "series": "v"}]}, "unknown series 'v'"),
        ({"samples": [{"metric": "ttft", "values": 1}] * 2}, "w ttft is reported twice"),
    ],
)
def test_results_that_cannot_be_used_are_named(tmp_path: Path, data: object, words: str) -> None:
    result(tmp_path, data)

    with pytest.raises(ResultError) as caught:
        read_samples(workload(), tmp_path)

    assert words in str(caught.value)


def test_where_there_are_several_series_a_sample_names_its_own(tmp_path: Path) -> None:
    result(tmp_path, {"ttft": 1})

    with pytest.raises(ResultError, match="does not name its series"):
        read_samples(workload(params={"n": [1, 2]}), tmp_path)


def test_a_command_that_wrote_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="wrote no results"):
        read_samples(workload(), tmp_path)


def test_a_pipe_or_a_device_in_the_place_of_results_is_never_read(tmp_path: Path) -> None:
    os.mkfifo(out_file(tmp_path, 0))
    with pytest.raises(ResultError, match="neither a file nor a folder"):
        read_samples(workload(), tmp_path)
    out_file(tmp_path, 0).unlink()
    out_file(tmp_path, 0).symlink_to("/dev/zero")
    with pytest.raises(ResultError, match="neither a file nor a folder"):
        read_samples(workload(), tmp_path)
