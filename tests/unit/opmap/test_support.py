"""Which class an operator has on a target: the rules in order, each with its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.opmap.seen import Fact, SeenOps
from ciwm.opmap.support import kernel_supports, supports
from tests.map_examples import manifest

if TYPE_CHECKING:
    from ciwm.records.opmap import OpSupport


def seen(*ops: str, kind: str = "L", **composites: tuple[str, ...]) -> SeenOps:
    """One subject that reached these operators."""
    return SeenOps(
        uses=(),
        kinds={op: frozenset({kind}) for op in ops},
        counts=dict.fromkeys(ops, 2),
        composites={f"aten::{name}": leaves for name, leaves in composites.items()},
        broken={},
        facts={},
    )


def support_of(op: str, *, kind: str = "L", fact: Fact | None = None) -> OpSupport:
    (found,) = supports(manifest(codegen=True), {"w": seen(op, kind=kind)}, {op: fact or Fact()})
    return found


def test_a_kernel_that_the_workload_reached_is_native() -> None:
    found = support_of("aten::mm.out", kind="N")
    assert found.support == "native"
    assert found.level == "traced"
    assert "RegisterNPU.cpp" in found.evidence


def test_a_kernel_whose_file_is_one_of_fallbacks_is_a_fallback() -> None:
    found = support_of("aten::erfinv.out")
    assert found.support == "fallback"
    assert "NPUFallback.cpp" in found.evidence


def test_the_row_of_a_whole_backends_fallback_is_a_fallback() -> None:
    assert support_of("aten::cumsum.out").support == "fallback"


def test_a_fallback_that_the_cpu_refuses_is_broken() -> None:
    refused = SeenOps(
        uses=(),
        kinds={"aten::cumsum.out": frozenset("L")},
        counts={"aten::cumsum.out": 1},
        composites={},
        broken={"aten::cumsum.out": "not implemented for Half"},
        facts={},
    )
    (found,) = supports(manifest(), {"w": refused}, {})
    assert found.support == "fallback-broken"
    assert "not implemented for Half" in found.evidence


def test_what_throws_without_a_kernel_is_missing_although_there_is_a_fallback() -> None:
    assert support_of("aten::histc", kind="H").support == "hard-missing"


def test_a_convolution_is_native_by_the_devices_own_name_for_it() -> None:
    device = manifest(rows={"kernel": {"RegisterCUDA_0.cpp": ("cudnn_convolution",)}})
    op = "aten::convolution_overrideable"
    (found,) = supports(device, {"w": seen(op, kind="H")}, {})
    assert found.support == "native"
    assert found.level == "registered"


def test_inductors_lowering_serves_only_under_compile_and_only_with_codegen() -> None:
    op, lowered = "aten::swish.out", Fact(inductor="lowering")
    assert support_of(op, fact=lowered).support == "compiled-reuse"
    (without,) = supports(manifest(codegen=False), {"w": seen(op)}, {op: lowered})
    assert without.support == "must-write"


def test_inductors_fallback_still_needs_a_kernel() -> None:
    assert support_of("aten::multinomial", fact=Fact(inductor="fallback")).support == "must-write"


def test_what_nothing_serves_must_be_written() -> None:
    found = support_of("aten::swish.out", fact=Fact(decomposition=True))
    assert found.support == "must-write"
    assert found.has_decomposition
    assert "does not know it" in found.evidence


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        (("aten::mm.out",), "composite-reuse"),
        (("aten::mm.out", "aten::cumsum.out"), "fallback"),
        (("aten::mm.out", "aten::cumsum.out", "aten::swish.out"), "must-write"),
    ],
)
def test_a_composite_is_as_good_as_its_worst_leaf(leaves: tuple[str, ...], expected: str) -> None:
    subject = seen("aten::mm.out", "aten::cumsum.out", "aten::swish.out", attention=leaves)
    found = {one.op: one for one in supports(manifest(), {"w": subject}, {})}
    assert found["aten::attention"].support == expected


def test_calls_and_users_are_summed_over_workloads() -> None:
    both = {"a": seen("aten::mm.out", kind="N"), "b": seen("aten::mm.out", kind="N")}
    (found,) = supports(manifest(), both, {})
    assert (found.calls, found.workloads) == (4, ("a", "b"))


def test_a_kernel_of_the_census_has_the_class_of_what_the_target_is_asked_for_in_its_place() -> (
    None
):
    rows = {
        "kernel": {"RegisterNPU.cpp": ("mm", "add.out")},
        "backend fallback": {"": ("cumsum", "sort.out")},
    }
    device = manifest(rows=rows, fallback_files=())
    found = supports(device, {"w": seen("aten::mm", "aten::cumsum")}, {})
    asked = {"w": seen("aten::mm", "aten::mm.out", "aten::cumsum.out"), "v": seen("aten::add.out")}
    others = kernel_supports(device, {**asked, "u": seen("aten::sort.out", "aten::erf")}, found, {})
    assert {one.op: (one.support, one.level, one.workloads) for one in others} == {
        "aten::mm.out": ("native", "traced", ("w",)),  # no kernel of its own, but mm has one
        "aten::cumsum.out": ("fallback", "traced", ("w",)),
        "aten::add.out": ("native", "registered", ("v",)),
        "aten::sort.out": ("fallback", "registered", ("u",)),
        "aten::erf": ("must-write", "registered", ("u",)),
    }
    assert "reached" not in next(one.evidence for one in others if one.op == "aten::erf")


def test_a_kernel_of_the_census_that_the_target_has_by_another_name_or_never_needs() -> None:
    rows = {"kernel": {"RegisterCUDA_0.cpp": ("_cudnn_convolution_backward",)}}
    asked = {"w": seen("aten::convolution_backward_overrideable", "aten::_copy_from")}
    (found,) = kernel_supports(manifest(rows=rows, key="CUDA"), asked, (), {})
    assert (found.op, found.support) == ("aten::convolution_backward_overrideable", "native")
    others = kernel_supports(manifest(rows=rows), asked, (), {})
    assert [one.op for one in others] == [
        "aten::_copy_from",  # a plugin's copies are its own
        "aten::convolution_backward_overrideable",
    ]
