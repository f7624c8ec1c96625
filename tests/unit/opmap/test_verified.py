"""When a kernel of a target counts as verified: what its sweep must have said, and of what."""

from __future__ import annotations

from typing import Any

import pytest

from ciwm.opmap.coverage import Coverage
from ciwm.opmap.diff import map_diff
from ciwm.opmap.seen import SeenOps
from ciwm.opmap.verified import with_verified
from ciwm.records.opmap_correctness import (
    CheckVerdict,
    Correctness,
    OperatorCheck,
    Sweep,
    WorkloadCorrectness,
)
from ciwm.worker.opmap.census import _computed_in
from tests.map_examples import manifest, support, use, workload_map

MM, SUM = "aten::mm.out", "aten::sum.IntList_out"


def sweep(verdicts: dict[str, CheckVerdict], **changes: Any) -> Sweep:
    """Of mm, and of sum, whose variants are checks of one kernel."""
    fields: dict[str, Any] = {
        "device": "npu:0",
        "key": "PrivateUse1",
        "dtypes": ("float32", "bfloat16"),
        "sources": ("opinfo",),
        "samples": 8,
        "operators": 2,
        "known": 702,
        "cases": {},
        "verdicts": verdicts,
        "kernels": {"aten::mm": ("mm backward", "mm forward"), "aten::sum": ("sum forward",)},
    }
    return Sweep(**{**fields, **changes})


def seen(dtypes: dict[str, tuple[str, ...]]) -> SeenOps:
    return SeenOps(
        uses=tuple(use(op, dtypes=each) for op, each in dtypes.items()),
        kinds={},
        counts={},
        composites={"aten::linear": (MM,), "aten::both": (MM, SUM)},
        broken={},
        facts={},
    )


def levels(
    correctness: Correctness, torch: str = "2.13.0+npu", dtype: str = "float32", name: str = "npu"
) -> dict[str, str]:
    coverage = Coverage(
        supports=(
            support(MM),
            support(SUM, "fallback"),
            support("aten::linear", "composite-reuse", calls=0),
            support("aten::both", "fallback", calls=0),
        ),
        kernel_supports=(support("aten::mm.dtype_out", level="registered", calls=0),),
    )
    called = seen({MM: (dtype,), SUM: (dtype,), "aten::mm.dtype_out": (dtype,)})
    found = with_verified(coverage, correctness, manifest(name=name), torch, [called])
    return {one.op: one.level for one in (*found.supports, *found.kernel_supports)}


@pytest.mark.parametrize(
    ("spec", "dtypes"),
    [
        ("Float[2,3] Float[3]", {"float32"}),
        ("BFloat16[2,3]{1,2} Long[2]", {"bfloat16"}),  # rows that are looked up
        ("Float[2] Double[]", {"float32"}),  # x * 2.0
        ("Long[4] Long[]", {"int64"}),
        ("Bool[3,3]", {"bool"}),
        ("Double[]", {"float64"}),
        ("float16[2]", {"float16"}),  # as the device in Python has it
        ("", set()),
    ],
)
def test_the_dtype_that_a_call_computes_in(spec: str, dtypes: set[str]) -> None:
    assert _computed_in(spec) == dtypes


GOOD: dict[str, CheckVerdict] = {
    "mm float32 forward": "strict",
    "mm float32 backward": "drift",
    "mm bfloat16 forward": "strict",
    "sum float32 forward": "strict",
}


def test_all_right_in_the_dtypes_used_is_verified_and_so_is_what_ends_in_it() -> None:
    assert levels(Correctness(sweep=sweep(GOOD))) == {
        MM: "verified",
        SUM: "verified",
        "aten::linear": "verified",
        "aten::both": "verified",
        "aten::mm.dtype_out": "verified",
    }


@pytest.mark.parametrize("verdict", ["WRONG", "error", "crash", "timeout", "untestable"])
def test_one_verdict_that_is_not_good_suffices(verdict: CheckVerdict) -> None:
    found = levels(Correctness(sweep=sweep({**GOOD, "mm float32 backward": verdict})))
    assert found[MM] == found["aten::linear"] == found["aten::both"] == "traced"
    assert found[SUM] == "verified"


def test_a_dtype_that_was_not_swept_proves_nothing() -> None:
    assert levels(Correctness(sweep=sweep(GOOD)), dtype="int64")[MM] == "traced"
    assert levels(Correctness(sweep=sweep(GOOD)), dtype="bfloat16") == {
        MM: "verified",  # of sum there is no verdict in it
        SUM: "traced",
        "aten::linear": "verified",
        "aten::both": "traced",
        "aten::mm.dtype_out": "verified",
    }


def test_only_a_sweep_of_the_same_device_and_torch_counts() -> None:
    good = Correctness(sweep=sweep(GOOD))
    assert "verified" not in levels(good, torch="2.14.1").values()
    assert "verified" not in levels(good, name="other").values()
    other = Correctness(sweep=sweep(GOOD, key="CUDA", device="cuda"))
    assert "verified" not in levels(other).values()


def test_a_workloads_own_call_that_failed_outweighs_the_sweep() -> None:
    check = OperatorCheck(
        operator="aten.mm.default",
        dtype="float32",
        direction="forward",
        verdict="WRONG",
        counts={"workload": {"WRONG": 1}},
    )
    replayed = WorkloadCorrectness(workload="decode", device="npu", calls=3, checks=(check,))
    found = levels(Correctness(sweep=sweep(GOOD), workloads=(replayed,)))
    assert (found[MM], found[SUM]) == ("traced", "verified")


def test_less_evidence_is_no_lost_coverage() -> None:
    base = workload_map(supports=(support(MM, level="verified"),))
    head = workload_map(supports=(support(MM, level="registered"),))
    diff = map_diff(base, head, ["coverage"])
    assert (diff.changes, diff.blocks) == ((), False)
