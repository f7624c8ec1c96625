"""What the null device sees of real models, against what is known of them beforehand."""

from __future__ import annotations

import sys
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


# its outputs are gradients, so that those are compared with the CPU's
CELLS = """
import torch

class Gradients(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell = getattr(torch.nn, kind)(4, 3, bias=True)

    def forward(self, x):
        with torch.enable_grad():
            out = self.cell(x)[0]
            return [out, *torch.autograd.grad((out ** 3).sum(), list(self.cell.parameters()))]

def build(kind):
    return {"model": Gradients(kind), "inputs": (torch.randn(5, 2, 4),)}
"""
ENDINGS = """
import torch
from torch import nn

class Result(nn.Module):
    def __init__(self, value, there):
        super().__init__()
        self.value, self.there = value, there

    def forward(self, x):
        odd = x.device.type == "cpu" or self.there
        return torch.relu(x) * (float(self.value) if odd else 1.0)

class Refuses(nn.Module):
    def forward(self, x):
        raise ValueError("not this one")

class Conjugates(nn.Module):
    def forward(self, x):
        lazy = torch.complex(x, x.cos()).conj()
        return torch.view_as_real(lazy.resolve_conj()), lazy.imag

class Catches(nn.Module):
    def __init__(self):
        super().__init__()
        self.refuses, self.last = Refuses(), nn.ReLU()

    def forward(self, x):
        try:
            self.refuses(x)
        except ValueError:
            x = x.cos()
        return self.last(x)

def build(what):
    if what == "caught":
        model = Catches()
    elif what == "complex":
        model = Conjugates()
    elif what == "compiled":
        model = torch.compile(nn.Sequential(nn.ReLU(), nn.Tanh()))
    elif what == "names":
        model = nn.Sequential()
        model.add_module("a\\tb\\nc", nn.ReLU())
    else:
        model = Result(what, there=True)
        if what == "0.5":
            model = Result("inf", there=False)
    return {"model": model, "inputs": (torch.randn(3),)}
"""
REGISTERS = """
import torch
LIBRARY = torch.library.Library("map_once", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.impl("twice", lambda x: x * 2, "CPU")

class Twice(torch.nn.Module):
    def forward(self, x):
        return torch.ops.map_once.twice(x)

def build(n):
    return {"model": Twice(), "inputs": (torch.ones(n),)}
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


@pytest.fixture(scope="module")
def odd(bed: Bed) -> dict[str, Observed]:
    bed.write("cells.py", CELLS)
    bed.write("endings.py", ENDINGS)
    cells = [
        bed.subject("cells.py:build", "prefill", id=kind, params={"kind": kind})
        for kind in ("LSTM", "GRU")
    ]
    endings = [
        bed.subject("endings.py:build", "prefill", id=what, params={"what": what})
        for what in ("-inf", "nan", "0.5", "caught", "names", "compiled", "complex")
    ]
    return bed.observe_all("census", [*cells, *endings])


@pytest.mark.parametrize(("kind", "name"), [("LSTM", "lstm"), ("GRU", "gru")])
def test_cells_that_the_cpu_does_not_have_are_missing_kernels_and_the_rest_is_seen(
    odd: dict[str, Observed], kind: str, name: str
) -> None:
    found = seen_ops("w", odd[kind])
    hard = {op for op in found.of_kind("H") if f"_thnn_fused_{name}_cell" in op}
    assert len(hard) == 2  # forward and backward
    assert found.counts[f"aten::_thnn_fused_{name}_cell"] == 5
    # the output, and the gradients of both weights and biases
    assert said(odd[kind], "difference")[0]["max_abs_diff"] < 1e-5


@pytest.mark.parametrize("value", ["-inf", "nan"])
def test_an_infinite_result_that_is_the_cpus_is_no_difference(
    odd: dict[str, Observed], value: str
) -> None:
    assert odd[value].problem is None
    assert said(odd[value], "difference")[0]["max_abs_diff"] == 0


def test_a_result_that_is_finite_on_one_side_alone_is_as_far_as_can_be(
    odd: dict[str, Observed],
) -> None:
    assert said(odd["0.5"], "difference")[0]["max_abs_diff"] == sys.float_info.max


def test_a_module_that_threw_is_left_for_the_one_that_called_it(
    odd: dict[str, Observed],
) -> None:
    assert use_of(odd["caught"], "aten::cos.out", "forward").modules == ()
    assert use_of(odd["caught"], "aten::relu", "forward").modules == ("last",)


def test_what_a_workload_compiles_is_seen_operator_by_operator(odd: dict[str, Observed]) -> None:
    ops = {op for op, _ in counts(odd["compiled"])}
    assert ops == {"aten::relu", "aten::tanh.out"}


def test_lazy_conjugates_are_copied_as_they_are(odd: dict[str, Observed]) -> None:
    assert odd["complex"].problem is None
    assert said(odd["complex"], "difference")[0]["max_abs_diff"] == 0


def test_a_name_of_a_module_may_hold_anything(odd: dict[str, Observed]) -> None:
    assert use_of(odd["names"], "aten::relu", "forward").modules == ("a b c",)


def test_a_file_that_registers_operators_is_imported_once_for_all_its_points(bed: Bed) -> None:
    bed.write("registers.py", REGISTERS)
    points = [
        bed.subject("registers.py:build", "prefill", id=str(n), params={"n": n})
        for n in range(1, 13)
    ]
    found = bed.observe_all("census", points)
    assert {each.problem for each in found.values()} == {None}


def test_files_of_two_folders_import_each_their_own_helper(bed: Bed) -> None:
    for folder, layer in (("one", "ReLU"), ("two", "Sigmoid")):
        bed.write(f"{folder}/layers.py", f"from torch import nn\ndef layer(): return nn.{layer}()")
        bed.write(
            f"{folder}/made.py",
            "import layers, torch\n"
            "def build(): return {'model': layers.layer(), 'inputs': (torch.ones(2),)}\n",
        )
    both = [bed.subject(f"{one}/made.py:build", "prefill", id=one) for one in ("one", "two")]
    found = bed.observe_all("census", both)
    assert counts(found["one"]) == {("aten::relu", "forward"): 1}
    assert counts(found["two"]) == {("aten::sigmoid.out", "forward"): 1}


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
