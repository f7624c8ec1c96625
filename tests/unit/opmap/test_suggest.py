"""Which workloads a map is told to lack."""

from __future__ import annotations

from typing import Any

from ciwm.config import WorkloadConfig
from ciwm.opmap.suggest import suggestions


def workload(name: str, phase: str, **changes: Any) -> WorkloadConfig:
    fields = {"id": name, "phase": phase, "python": "w.py:step", "model": "w.py:build"}
    return WorkloadConfig.model_validate({**fields, **changes})


def test_decode_alone_lacks_a_prefill() -> None:
    assert any(said.startswith("prefill:") for said in suggestions([workload("d", "decode")]))


def test_prefill_alone_lacks_a_decode() -> None:
    assert any(said.startswith("decode:") for said in suggestions([workload("p", "prefill")]))


def test_a_complete_set_lacks_nothing() -> None:
    declared = [
        workload("p", "prefill"),
        workload("d", "decode"),
        workload(
            "t",
            "train",
            devices=2,
            parallel=["ddp"],
            python=None,
            command="torchrun t.py {out}",
            metrics={"m": {"unit": "s", "better": "lower"}},
        ),
    ]
    assert suggestions(declared) == ()


def test_a_command_without_a_model_is_pointed_out() -> None:
    declared = workload(
        "c",
        "prefill",
        python=None,
        model=None,
        command="run {out}",
        metrics={"m": {"unit": "s", "better": "lower"}},
    )
    assert any("c: a command is not seen" in said for said in suggestions([declared]))


def test_a_model_on_several_devices_without_a_strategy_is_pointed_out() -> None:
    (said,) = [each for each in suggestions([workload("t", "train", devices=2)]) if "t:" in each]
    assert said.startswith("t: parallel = ")
