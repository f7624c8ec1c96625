"""What the null device sees of real models, against what is known of them beforehand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.opmap.seen import said, seen_ops

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.opmap.observe import Observed
    from tests.integration.opmap.conftest import Bed

MLP = """
import torch

class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 2, bias=False)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))

def build(batch=3):
    return {"model": Mlp(), "inputs": (torch.randn(batch, 4),)}
"""


CONV = """
import torch
def build():
    return {"model": torch.nn.Conv2d(3, 4, 3), "inputs": (torch.randn(1, 3, 8, 8),)}
"""
CUSTOM = """
import torch

@torch.library.custom_op("w::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

class Twice(torch.nn.Module):
    def forward(self, x):
        return twice(x)

def build():
    return {"model": Twice(), "inputs": (torch.randn(3),)}
"""
STEP = """
import torch
def step(n):
    a = torch.ones(n, n)
    return (a @ a).sum().item()
"""


@pytest.fixture(scope="module")
def seen(bed: Bed) -> dict[str, Observed]:
    """All workloads of this file, observed in one process, as a map does it."""
    for name, text in (("mlp", MLP), ("conv", CONV), ("custom", CUSTOM), ("step", STEP)):
        bed.write(f"{name}.py", text)
    step: dict[str, Any] = {"entry": "step", "callable": "step", "params": {"n": 4}}
    return bed.observe_all(
        "census",
        [
            bed.subject("mlp.py:build", "prefill", id="forward"),
            bed.subject("mlp.py:build", "train", id="train"),
            bed.subject("conv.py:build", "train", id="conv"),
            bed.subject("custom.py:build", "prefill", id="custom"),
            bed.subject("step.py:step", id="step", **step),
        ],
    )


def counts(observed: Observed) -> dict[tuple[str, str], int]:
    """Calls by operator and part, structural ones left out."""
    assert observed.problem is None, observed.problem
    uses = seen_ops("w", observed).uses
    return {(use.op, use.part): use.count for use in uses if not use.structural}


def use_of(observed: Observed, op: str, part: str) -> Any:
    uses = seen_ops("w", observed).uses
    return next(use for use in uses if (use.op, use.part) == (op, part))


def test_a_forward_pass_ends_in_the_kernels_that_its_layers_are_made_of(
    seen: dict[str, Observed],
) -> None:
    # addmm with a bias, mm without one, and relu, which has no out form
    assert counts(seen["forward"]) == {
        ("aten::addmm.out", "forward"): 1,
        ("aten::relu", "forward"): 1,
        ("aten::mm.out", "forward"): 1,
    }


def test_each_call_is_told_with_its_module_and_its_tensors(seen: dict[str, Observed]) -> None:
    use = use_of(seen["forward"], "aten::addmm.out", "forward")
    assert use.modules == ("first",)
    # bias, input, the weight as the transposed view that it is, and the result
    (spec,) = use.specs
    assert spec.tensors == ("Float[8]", "Float[3,4]", "Float[4,8]{1,4}", "Float[3,8]")


def test_the_result_is_that_of_the_cpu(seen: dict[str, Observed]) -> None:
    (line,) = said(seen["forward"], "difference")
    assert line["max_abs_diff"] < 1e-6


def test_a_training_step_has_its_backward_pass_and_optimizer(seen: dict[str, Observed]) -> None:
    found = counts(seen["train"])
    # two weights and one input gradient; the first layer's input needs none
    assert found["aten::mm.out", "backward"] == 3
    assert found["aten::threshold_backward.grad_input", "backward"] == 1
    assert any(part == "optimizer" for _, part in found)
    # a backward call belongs to the module whose forward call made it
    assert set(use_of(seen["train"], "aten::mm.out", "backward").modules) == {"first", "second"}


def test_composites_are_told_with_their_leaves(seen: dict[str, Observed]) -> None:
    composites = seen_ops("w", seen["forward"]).composites
    assert set(composites["aten::linear"]) == {"aten::addmm.out", "aten::mm.out"}
    assert composites["aten::addmm"] == ("aten::addmm.out",)


def test_what_torch_knows_of_each_leaf_is_told(seen: dict[str, Observed]) -> None:
    facts = seen_ops("w", seen["forward"]).facts
    assert facts["aten::mm.out"].meta
    assert facts["aten::relu"].decomposition


def test_a_convolution_is_what_no_fallback_helps_with(seen: dict[str, Observed]) -> None:
    assert seen_ops("w", seen["conv"]).of_kind("H") == {
        "aten::convolution_overrideable",
        "aten::convolution_backward_overrideable",
    }


def test_a_custom_operator_without_a_meta_kernel_runs_all_the_same(
    seen: dict[str, Observed],
) -> None:
    assert any(op in {"w::twice", "aten::mul.out"} for op, _ in counts(seen["custom"]))


def test_a_bare_step_is_seen_and_its_limits_are_told(seen: dict[str, Observed]) -> None:
    assert counts(seen["step"])["aten::mm.out", "step"] == 1
    (note,) = said(seen["step"], "note")
    assert "a bare step" in note["note"]


def test_without_a_compiler_the_device_in_python_counts_the_same_calls(
    bed: Bed, seen: dict[str, Observed], tmp_path: Path
) -> None:
    without = replace(bed, site=replace(bed.site, cache=tmp_path))
    names = {"forward": ("mlp", "prefill"), "train": ("mlp", "train"), "conv": ("conv", "train")}
    subjects = [
        bed.subject(f"{file}.py:build", phase, id=name) for name, (file, phase) in names.items()
    ]
    found = without.observe_all("census", subjects, {"python": True})
    for name in names:
        assert counts(found[name]) == counts(seen[name])
    assert said(found["forward"], "difference")[0]["max_abs_diff"] < 1e-6
    (capture,) = said(found["forward"], "capture")
    assert capture["capture"] == "null device (Python)"
    assert any("no strides" in limit for limit in capture["limits"])


@pytest.mark.heavy
def test_observing_leaves_torch_compile_alone(bed: Bed) -> None:
    """A plain dispatch mode would make a compiled function eager for ever."""
    bed.write(
        "compiled.py",
        """
import torch

CALLS = []

def backend(graph, _inputs):
    CALLS.append(1)
    return graph.forward

class Compiled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.run = torch.compile(lambda x: torch.relu(x) + 1, backend=backend, dynamic=False)

    def forward(self, x):
        out = self.run(x)
        if len(CALLS) != 1:
            raise RuntimeError(f"compiled {len(CALLS)} times")
        return out

def build():
    return {"model": Compiled(), "inputs": (torch.randn(3),)}
""",
    )
    seen = bed.observe("intensity", bed.subject("compiled.py:build", "prefill"))
    assert seen.problem is None, seen.problem
