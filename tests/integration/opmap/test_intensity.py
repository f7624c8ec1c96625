"""FLOPs, bytes and memory against what can be counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ciwm.opmap.seen import said

if TYPE_CHECKING:
    from ciwm.opmap.observe import Observed
    from tests.integration.opmap.conftest import Bed

LINEAR = """
import torch

def build(n=64, m=32, batch=16):
    model = torch.nn.Linear(n, m, bias=False)
    return {"model": model, "inputs": (torch.randn(batch, n),),
            "optimizer": lambda p: torch.optim.Adam(p, foreach=False)}
"""


BRANCH = """
import torch

class Branch(torch.nn.Module):
    def forward(self, x):
        return x @ x if x.sum().item() > 0 else x

def build():
    return {"model": Branch(), "inputs": (torch.ones(4, 4),)}
"""
HUGE = {"n": 2**20, "m": 2**19, "batch": 2}  # 2 TiB of weights


@pytest.fixture(scope="module")
def seen(bed: Bed) -> dict[str, Observed]:
    """All workloads of this file, counted in one process."""
    bed.write("linear.py", LINEAR)
    bed.write("branch.py", BRANCH)
    return bed.observe_all(
        "intensity",
        [
            bed.subject("linear.py:build", "prefill", id="forward"),
            bed.subject("linear.py:build", "train", id="train"),
            bed.subject("linear.py:build", "prefill", id="huge", params=HUGE),
            bed.subject("branch.py:build", "prefill", id="branch"),
        ],
    )


def figures(observed: Observed) -> dict[str, Any]:
    assert observed.problem is None, observed.problem
    (line,) = said(observed, "figures")
    return line


def test_a_product_of_matrices_is_counted_as_by_hand(seen: dict[str, Observed]) -> None:
    found = figures(seen["forward"])
    assert found["flops"] == 2 * 16 * 64 * 32
    # the weight, the input and the output, four bytes an element, whichever bound
    moved = 4 * (64 * 32 + 16 * 64 + 16 * 32)
    assert (found["bytes_low"], found["bytes_high"]) == (moved, moved)
    assert found["params_bytes"] == 4 * 64 * 32


def test_a_training_step_has_two_products_and_the_optimizers_state(
    seen: dict[str, Observed],
) -> None:
    found = figures(seen["train"])
    # forward and the weight's gradient; the input needs none
    assert found["flops"] == 2 * 2 * 16 * 64 * 32
    assert found["grads_bytes"] == 4 * 64 * 32
    # two moments of the weight, and a step counter
    assert found["optimizer_bytes"] == 2 * 4 * 64 * 32 + 4
    # the input is kept for the backward pass
    assert found["activations_bytes"] == 4 * 16 * 64


def test_a_model_too_large_for_this_machine_is_counted_without_its_weights(
    seen: dict[str, Observed],
) -> None:
    found = figures(seen["huge"])
    assert found["params_bytes"] == 4 * 2**39
    assert found["flops"] == 2 * 2 * 2**39


def test_what_data_decides_is_counted_on_real_tensors_and_told(
    seen: dict[str, Observed],
) -> None:
    assert figures(seen["branch"])["flops"] == 2 * 4**3
    assert "counted on real tensors" in said(seen["branch"], "note")[0]["note"]
