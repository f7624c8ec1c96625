"""What the null device sees of real models, against what is known of them beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ciwm.opmap.seen import said, seen_ops

if TYPE_CHECKING:
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


def counts(observed: Observed) -> dict[tuple[str, str], int]:
    """Calls by operator and part, structural ones left out."""
    assert observed.problem is None, observed.problem
    uses = seen_ops("w", observed).uses
    return {(use.op, use.part): use.count for use in uses if not use.structural}


def use_of(observed: Observed, op: str, part: str) -> Any:
    uses = seen_ops("w", observed).uses
    return next(use for use in uses if (use.op, use.part) == (op, part))


def test_a_forward_pass_ends_in_the_kernels_that_its_layers_are_made_of(bed: Bed) -> None:
    bed.write("mlp.py", MLP)
    seen = bed.observe("census", bed.subject("mlp.py:build", "prefill"))
    # addmm with a bias, mm without one, and relu, which has no out form
    assert counts(seen) == {
        ("aten::addmm.out", "forward"): 1,
        ("aten::relu", "forward"): 1,
        ("aten::mm.out", "forward"): 1,
    }


def test_each_call_is_told_with_its_module_and_its_tensors(bed: Bed) -> None:
    bed.write("mlp.py", MLP)
    seen = bed.observe("census", bed.subject("mlp.py:build", "prefill"))
    use = use_of(seen, "aten::addmm.out", "forward")
    assert use.modules == ("first",)
    # bias, input, the weight as the transposed view that it is, and the result
    (spec,) = use.specs
    assert spec.tensors == ("Float[8]", "Float[3,4]", "Float[4,8]{1,4}", "Float[3,8]")


def test_the_result_is_that_of_the_cpu(bed: Bed) -> None:
    bed.write("mlp.py", MLP)
    seen = bed.observe("census", bed.subject("mlp.py:build", "prefill"))
    (line,) = said(seen, "difference")
    assert line["max_abs_diff"] < 1e-6


def test_a_training_step_has_its_backward_pass_and_optimizer(bed: Bed) -> None:
    bed.write("mlp.py", MLP)
    seen = bed.observe("census", bed.subject("mlp.py:build", "train"))
    found = counts(seen)
    # two weights and one input gradient; the first layer's input needs none
    assert found["aten::mm.out", "backward"] == 3
    assert found["aten::threshold_backward.grad_input", "backward"] == 1
    assert any(part == "optimizer" for _, part in found)
    # a backward call belongs to the module whose forward call made it
    assert set(use_of(seen, "aten::mm.out", "backward").modules) == {"first", "second"}


def test_composites_are_told_with_their_leaves(bed: Bed) -> None:
    bed.write("mlp.py", MLP)
    seen = bed.observe("census", bed.subject("mlp.py:build", "prefill"))
    composites = seen_ops("w", seen).composites
    assert set(composites["aten::linear"]) == {"aten::addmm.out", "aten::mm.out"}
    assert composites["aten::addmm"] == ("aten::addmm.out",)


def test_a_convolution_is_what_no_fallback_helps_with(bed: Bed) -> None:
    bed.write(
        "conv.py",
        "import torch\n"
        "def build():\n"
        "    return {'model': torch.nn.Conv2d(3, 4, 3), 'inputs': (torch.randn(1, 3, 8, 8),)}\n",
    )
    seen = seen_ops("w", bed.observe("census", bed.subject("conv.py:build", "train")))
    hard = seen.of_kind("H")
    assert hard == {
        "aten::convolution_overrideable",
        "aten::convolution_backward_overrideable",
    }


def test_a_custom_operator_without_a_kernel_for_the_device_is_one_leaf(bed: Bed) -> None:
    bed.write(
        "custom.py",
        """
import torch

@torch.library.custom_op("w::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

class Twice(torch.nn.Module):
    def forward(self, x):
        return twice(x)

def build():
    return {"model": Twice(), "inputs": (torch.randn(3),)}
""",
    )
    seen = bed.observe("census", bed.subject("custom.py:build", "prefill"))
    assert seen.problem is None, seen.problem
    assert any(op in {"w::twice", "aten::mul.out"} for op, _ in counts(seen))


def test_a_bare_step_is_seen_and_its_limits_are_told(bed: Bed) -> None:
    bed.write(
        "step.py",
        "import torch\ndef step(n):\n    a = torch.ones(n, n)\n    return (a @ a).sum().item()\n",
    )
    subject = bed.subject("step.py:step", entry="step", params={"n": 4})
    seen = bed.observe("census", subject)
    assert counts(seen)["aten::mm.out", "step"] == 1
    (note,) = said(seen, "note")
    assert "a bare step" in note["note"]


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
