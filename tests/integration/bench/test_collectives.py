"""The built-in collectives between real ranks, by gloo."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.launch.collectives import elements, size_bytes
from tests.fork import workload
from tests.integration.bench.ranks_bed import Bed

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.config import WorkloadConfig

OPERATIONS = [
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "all_to_all",
    "send_recv",
]
METRICS = {
    "step_time": {"unit": "us", "better": "lower"},
    "algbw": {"unit": "GB/s", "better": "higher"},
    "busbw": {"unit": "GB/s", "better": "higher"},
}


def collective(devices: int, **table: Any) -> WorkloadConfig:
    return workload("c", python=None, devices=devices, metrics=METRICS, collective=table)


@pytest.mark.parametrize(("ranks", "dtypes"), [(2, ["float32", "bfloat16"]), (4, ["float32"])])
def test_bandwidths_are_those_of_the_slowest_rank_by_nccl_tests_formulas(
    tmp_path: Path, ranks: int, dtypes: list[str]
) -> None:
    one = collective(ranks, operations=OPERATIONS, sizes=[4096], dtypes=dtypes)
    share = (ranks - 1) / ranks
    factors = dict(zip(OPERATIONS, [2 * share, share, share, 1, share, 1], strict=True))

    launch = Bed(tmp_path).launch(one)

    assert launch.exit == "ok", launch.detail
    assert len(launch.ranks) == ranks
    found = {(each.series, each.metric): each.values for each in launch.samples}
    for op in OPERATIONS:
        for dtype in dtypes:
            name = f"c/op={op},bytes=4096,dtype={dtype}"
            own = [
                each.values
                for rank in launch.ranks
                for each in rank.samples
                if (each.series, each.metric) == (name, "step_time")
            ]
            assert len(own) == ranks
            slowest = [max(step) for step in zip(*own, strict=True)]
            assert found[name, "step_time"] == tuple(slowest)
            algbw = [4096 / (us * 1e-6) / 1e9 for us in slowest]
            assert found[name, "algbw"] == pytest.approx(algbw)
            busbw = [each * factors[op] for each in algbw]
            assert found[name, "busbw"] == pytest.approx(busbw)


def test_shares_are_equal_and_bytes_are_those_that_were_moved() -> None:
    one = collective(3, operations=["all_gather", "all_reduce"], sizes=[1000], dtypes=["float32"])

    gathered: dict[str, Any] = {"op": "all_gather", "bytes": 1000, "dtype": "float32"}
    reduced: dict[str, Any] = {**gathered, "op": "all_reduce"}

    assert (elements(one, gathered), size_bytes(one, gathered)) == (249, 996)
    assert (elements(one, reduced), size_bytes(one, reduced)) == (250, 1000)


def test_a_backend_that_is_not_there_fails_with_its_own_words(tmp_path: Path) -> None:
    launch = Bed(tmp_path).launch(collective(2, sizes=[64], backend="nccl", imports=["no_such"]))

    assert launch.exit == "failed"
    assert "No module named 'no_such'" in launch.detail
    job = json.loads(next(tmp_path.rglob("job.json")).read_text())
    assert job["series"][0]["params"]["elements"] == 16
