"""FLOPs, bytes and memory against what can be counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ciwm.opmap.seen import said

if TYPE_CHECKING:
    from tests.integration.opmap.conftest import Bed

LINEAR = """
import torch

def build(n=64, m=32, batch=16):
    model = torch.nn.Linear(n, m, bias=False)
    return {"model": model, "inputs": (torch.randn(batch, n),),
            "optimizer": lambda p: torch.optim.Adam(p, foreach=False)}
"""


def figures(bed: Bed, phase: str, **params: int) -> dict[str, Any]:
    bed.write("linear.py", LINEAR)
    seen = bed.observe("intensity", bed.subject("linear.py:build", phase, params=params))
    assert seen.problem is None, seen.problem
    (line,) = said(seen, "figures")
    return line


def test_a_product_of_matrices_is_counted_as_by_hand(bed: Bed) -> None:
    found = figures(bed, "prefill")
    assert found["flops"] == 2 * 16 * 64 * 32
    # the weight, the input and the output, four bytes an element, whichever bound
    moved = 4 * (64 * 32 + 16 * 64 + 16 * 32)
    assert (found["bytes_low"], found["bytes_high"]) == (moved, moved)
    assert found["params_bytes"] == 4 * 64 * 32


def test_a_training_step_has_two_products_and_the_optimizers_state(bed: Bed) -> None:
    found = figures(bed, "train")
    # forward and the weight's gradient; the input needs none
    assert found["flops"] == 2 * 2 * 16 * 64 * 32
    assert found["grads_bytes"] == 4 * 64 * 32
    # two moments of the weight, and a step counter
    assert found["optimizer_bytes"] == 2 * 4 * 64 * 32 + 4
    # the input is kept for the backward pass
    assert found["activations_bytes"] == 4 * 16 * 64


def test_a_model_too_large_for_this_machine_is_counted_without_its_weights(bed: Bed) -> None:
    found = figures(bed, "prefill", n=2**20, m=2**19, batch=2)  # 2 TiB of weights
    assert found["params_bytes"] == 4 * 2**39
    assert found["flops"] == 2 * 2 * 2**39


def test_what_data_decides_is_counted_on_real_tensors_and_told(bed: Bed) -> None:
    bed.write(
        "branch.py",
        """
import torch

class Branch(torch.nn.Module):
    def forward(self, x):
        return x @ x if x.sum().item() > 0 else x

def build():
    return {"model": Branch(), "inputs": (torch.ones(4, 4),)}
""",
    )
    seen = bed.observe("intensity", bed.subject("branch.py:build", "prefill"))
    assert seen.problem is None, seen.problem
    assert said(seen, "figures")[0]["flops"] == 2 * 4**3
    assert "counted on real tensors" in said(seen, "note")[0]["note"]
