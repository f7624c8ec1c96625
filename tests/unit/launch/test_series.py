from __future__ import annotations

from typing import Any

import pytest

from ciwm.config import GateConfig, WorkloadConfig
from ciwm.errors import ConfigError
from ciwm.launch.series import cases, family


def workload(**fields: Any) -> WorkloadConfig:
    return WorkloadConfig.model_validate({"id": "w", "python": "bench/steps.py:step", **fields})


def test_a_workload_without_parameters_is_one_series_named_like_it() -> None:
    assert [case.series for case in cases(workload())] == ["w"]


def test_a_matrix_is_every_combination_the_last_parameter_varying_fastest() -> None:
    names = [case.series for case in cases(workload(params={"batch": [1, 8], "seq": [512, 2048]}))]

    assert names == [
        "w/batch=1,seq=512",
        "w/batch=1,seq=2048",
        "w/batch=8,seq=512",
        "w/batch=8,seq=2048",
    ]


def test_values_keep_their_type_and_are_written_as_in_toml() -> None:
    params = {"on": [True], "ratio": [0.5], "dtype": ["bf16"], "n": [1]}

    (case,) = cases(workload(params=params))

    assert case.series == "w/on=true,ratio=0.5,dtype=bf16,n=1"
    assert [type(value) for value in case.params.values()] == [bool, float, str, int]


def test_the_family_is_every_metric_of_every_case_with_its_own_threshold_or_the_gates() -> None:
    metrics = {
        "step_time": {"unit": "ms", "better": "lower"},
        "rate": {"unit": "1/s", "better": "higher", "threshold": "10%"},
    }

    found = family([workload(params={"n": [1, 2]}, metrics=metrics)], GateConfig(threshold_pct=5))

    assert [(one.series, one.metric, one.threshold_pct) for one in found] == [
        ("w/n=1", "step_time", 5),
        ("w/n=1", "rate", 10),
        ("w/n=2", "step_time", 5),
        ("w/n=2", "rate", 10),
    ]


def test_a_step_time_that_is_better_when_higher_is_refused() -> None:
    odd = workload(metrics={"step_time": {"unit": "s", "better": "higher"}})

    with pytest.raises(ConfigError, match="better is higher: it is a time"):
        family([odd], GateConfig())


def test_a_parameter_named_like_a_placeholder_is_refused() -> None:
    command = WorkloadConfig.model_validate(
        {
            "id": "c",
            "command": "run {out}",
            "params": {"build": [1]},
            "metrics": {"t": {"unit": "s", "better": "lower"}},
        }
    )

    with pytest.raises(ConfigError, match=r"params\.build has the name of a placeholder"):
        family([command], GateConfig())
