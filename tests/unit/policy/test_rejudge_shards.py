"""A stranger's merged run, as the base's policy has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ciwm.bench.merging import Part, merged
from ciwm.config import GateConfig
from ciwm.errors import UsageError
from ciwm.policy import decide
from ciwm.policy.rejudge import replanned
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from ciwm.records import Run

GATE = GateConfig()


def matrix(**ratios: float) -> Run:
    parts = [
        Part(label, RunBuilder(seed=seed).blocks(8, 1.0, ratio).run())
        for seed, (label, ratio) in enumerate(ratios.items())
    ]
    return merged(parts)


def outcomes(run: Run) -> dict[str, str]:
    return {one.series: one.outcome for one in decide(run, GATE).series}


def test_what_the_base_declares_is_judged_on_every_device() -> None:
    judged = replanned(matrix(h100=1.0, a100=1.2), [series()], GATE)
    assert judged.plan.family_size == 2
    assert outcomes(judged) == {"decode/b1@a100": "regressed", "decode/b1@h100": "unchanged"}


def test_a_series_that_one_device_left_out_is_missing_there() -> None:
    run = matrix(h100=1.0, a100=1.0)
    judged = replanned(run, [series(), series("prefill")], GATE)
    assert outcomes(judged)["prefill@h100"] == "missing"
    kept = tuple(one for one in run.launches if not one.workload.endswith("a100"))
    judged = replanned(run.model_copy(update={"launches": kept}), [series()], GATE)
    assert outcomes(judged)["decode/b1@a100"] == "missing"


@pytest.mark.parametrize("labels", [["a", "a"], [f"s{i}" for i in range(65)]])
def test_shards_that_no_matrix_has_are_refused(labels: list[str]) -> None:
    run = matrix(h100=1.0)
    (shard,) = run.plan.shards
    shards = tuple(shard.model_copy(update={"label": label}) for label in labels)
    changes: dict[str, Any] = {"plan": run.plan.model_copy(update={"shards": shards})}
    with pytest.raises(UsageError, match="shards, or one label twice"):
        replanned(run.model_copy(update=changes), [series()], GATE)
