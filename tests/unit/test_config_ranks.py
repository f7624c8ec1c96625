"""What ciwm.toml may say of several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from ciwm.bench.plan import scaling_groups
from ciwm.config import Config, GateConfig, parse_config
from ciwm.errors import ConfigError
from ciwm.launch.series import cases, family

if TYPE_CHECKING:
    from ciwm.config import WorkloadConfig

NODES = ["--nnodes=2", "--rdzv-backend", "c10d", "--rdzv_endpoint=gpu-1:29400"]


def parsed(**table: Any) -> WorkloadConfig:
    kinds = ("python", "command", "collective")
    start = {} if any(kind in table for kind in kinds) else {"python": "w.py:step"}
    config = Config.model_validate({"workload": [{"id": "w", **start, **table}]})
    return config.workload[0]


def test_a_workload_has_a_rank_for_each_device_on_each_node() -> None:
    assert parsed().ranks == 1
    assert parsed(devices=4).ranks == 4
    assert parsed(devices=4, torchrun=NODES).ranks == 8
    assert parsed(torchrun=NODES).ranks == 2
    metrics = {"t": {"unit": "s", "better": "lower"}}
    assert parsed(command="run {out}", metrics=metrics, devices=4).ranks == 1


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"torchrun": ["--nnodes=2"]}, "needs to be told where they meet"),
        ({"torchrun": ["--nnodes=1:4", *NODES[1:]]}, "a fixed number of nodes"),
        ({"devices": 2, "torchrun": ["--nproc_per_node=8"]}, "state devices instead"),
        ({"devices": 2, "torchrun": ["--max-restarts", "3"]}, "a launch is one try"),
        ({"devices": 2, "torchrun": ["-m"]}, "ciwm starts its own worker"),
        ({"devices": 2, "torchrun": ["a", "--b"]}, "'a' is not a flag"),
        ({"torchrun": ["--standalone"]}, "state devices = 2"),
        ({"command": "x {out}", "metrics": {}, "torchrun": NODES}, "states metrics"),
        (
            {
                "command": "x {out}",
                "metrics": {"t": {"unit": "s", "better": "lower"}},
                "torchrun": NODES,
            },
            "torchrun is for python workloads",
        ),
        ({"collective": {}}, "state devices = 2 or more"),
        ({"collective": {}, "devices": 2, "params": {"a": 1}}, "no params and no files"),
        ({"collective": {}, "devices": 2, "python": "w.py:step"}, "state exactly one of"),
        ({"collective": {"sizes": ["1 furlong"]}, "devices": 2}, "not a size such as"),
        ({"collective": {"sizes": [0]}, "devices": 2}, "1 byte to 1 TiB"),
        ({"collective": {"dtypes": ["float8"]}, "devices": 2}, "no dtype 'float8'"),
        ({"collective": {"operations": []}, "devices": 2}, "name one at least"),
        ({"collective": {"operations": ["reduce_all"]}, "devices": 2}, "all_reduce"),
        ({"collective": {"peak_gb_s": 450}, "devices": 2}, "a peak has a source"),
    ],
)
def test_what_cannot_be_launched_is_refused_with_what_to_write(
    table: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        parsed(**table)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            {"collective": {"operations": "all_gather", "sizes": [8]}, "devices": 4},
            "8 bytes are no all_gather of float32 between 4 ranks",
        ),
        (
            {"devices": 2, "metrics": {"load_imbalance": {"unit": "s", "better": "lower"}}},
            'unit = "%", better = "lower"',
        ),
        (
            {
                "collective": {"sizes": [64]},
                "devices": 2,
                "metrics": {"tokens": {"unit": "1", "better": "higher"}},
            },
            "a collective has only step_time, load_imbalance, algbw, busbw",
        ),
    ],
)
def test_what_ciwm_makes_itself_has_its_own_unit(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        family([parsed(**table)], GateConfig())

    assert words in f"{caught.value.message} {caught.value.hint}"


def test_a_collective_is_a_series_for_each_operation_size_and_dtype() -> None:
    one = parsed(
        devices=8,
        collective={"operations": "all_reduce", "sizes": [1024, "1MiB"], "dtypes": ["float16"]},
    )

    assert [case.series for case in cases(one)] == [
        "w/op=all_reduce,bytes=1024,dtype=float16",
        "w/op=all_reduce,bytes=1048576,dtype=float16",
    ]
    (metric,) = one.declared_metrics.items()
    assert (metric[0], metric[1].unit, metric[1].better) == ("step_time", "us", "lower")


SCALED = """
[[workload]]
id = "one"
python = "w.py:step"
[[workload]]
id = "four"
python = "w.py:step"
devices = 4
[[scaling]]
id = "train"
kind = "weak"
workloads = ["four", "one"]
"""


def test_scaling_compares_with_the_fewest_ranks_of_what_is_measured() -> None:
    config = parse_config(SCALED.encode(), source="ciwm.toml")

    assert config is not None
    (group,) = scaling_groups(config, config.workload)
    assert [(point.workload, point.ranks) for point in group.points] == [("one", 1), ("four", 4)]
    assert scaling_groups(config, config.workload[:1]) == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["four", "one"]', '["four", "none"]', "there is no workload 'none'"),
        ("devices = 4", "", "the same number of ranks"),
        ('kind = "weak"', 'kind = "weak"\nmetric = "tokens"', "has no metric 'tokens'"),
        ("[[scaling]]", "[scaling]", "write [[scaling]], in two brackets"),
        (
            "devices = 4",
            'devices = 4\nmetrics.step_time = { unit = "ms", better = "lower" }',
            "step_time is 's', lower of one, and 'ms', lower of four: state one for all",
        ),
    ],
)
def test_scaling_of_what_is_not_there_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(SCALED.replace(old, new).encode(), source="ciwm.toml")

    assert words in caught.value.message


@pytest.mark.parametrize("over_ranks", ["worst", "mean"])
def test_a_rate_scales_as_a_total_and_not_as_that_of_one_rank(over_ranks: str) -> None:
    rate = 'metrics.tokens = { unit = "tokens/s", better = "higher", over_ranks = "sum" }'
    text = SCALED.replace('w.py:step"', f'w.py:step"\n{rate}')
    text = text.replace('kind = "weak"', 'kind = "weak"\nmetric = "tokens"')
    assert parse_config(text.encode(), source="ciwm.toml") is not None

    with pytest.raises(ConfigError, match="tokens of four is that of one rank"):
        parse_config(text.replace('"sum"', f'"{over_ranks}"').encode(), source="ciwm.toml")
