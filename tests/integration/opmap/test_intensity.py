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
    # the input and the output; the weight is a parameter, and no activation
    assert found["activations_bytes"] == 4 * (16 * 64 + 16 * 32)


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


ODD = """
import types
import torch
from torch import nn


@torch.library.custom_op("map_test::product", mutates_args=())
def product(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w


@product.register_fake
def _(x, w):
    return x.new_empty(x.shape[0], w.shape[1])


class Calls(nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *inputs):
        return self.call(*inputs)


class Remembers(nn.Module):
    # two heads of four remember two sequences of six tokens; a state of 5 numbers remembers none
    def forward(self, input_ids):
        keys = torch.zeros(2, 2, 6, 4)
        kept = {"keys": keys, "values": keys.clone(), "count": torch.tensor(6)}
        layers = [types.SimpleNamespace(**kept), types.SimpleNamespace(conv_states=torch.zeros(5))]
        cache = types.SimpleNamespace(layers=layers[:1] if input_ids.dim() == 2 else layers[1:])
        return types.SimpleNamespace(logits=keys.sum(), past_key_values=cache)


CALLS = {
    "a product of someone's own": (torch.ops.map_test.product, (16, 16), (16, 16)),
    "a matrix and a vector": (torch.mv, (16, 16), (16,)),
    "distances": (torch.cdist, (32, 16), (32, 16)),
    "a solver": (torch.linalg.solve, (16, 16), (16, 2)),
    "softmax": (lambda x: x.softmax(-1), (16, 16)),
    "in place": (lambda x: x.relu_(), (16, 16)),
    "upsampling": (
        lambda x: nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 4, 4)
    ),
    "a sparse product": (lambda x, y: torch.sparse.mm(x.to_sparse(), y), (8, 8), (8, 8)),
}


def build(what):
    if what == "lstm":
        return {"model": nn.LSTM(16, 32), "inputs": (torch.randn(5, 2, 16),)}
    if what == "encoder":
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        return {"model": layer, "inputs": (torch.randn(2, 7, 32),)}
    if what == "converted":
        model = nn.Linear(2**20, 2**19, bias=False).to(torch.bfloat16)  # a TiB
        return {"model": model, "inputs": (torch.randn(2, 2**20, dtype=torch.bfloat16),)}
    if what == "experts":
        def call(x, w):
            ends = torch.tensor([3, 8], dtype=torch.int32)
            return torch._grouped_mm(x.bfloat16(), w.bfloat16(), offs=ends)
        return {"model": Calls(call), "inputs": (torch.randn(8, 16), torch.randn(2, 16, 32))}
    if what == "flex":
        from torch.nn.attention.flex_attention import flex_attention
        query = torch.randn(1, 2, 128, 16)
        return {"model": Calls(flex_attention), "inputs": (query, query, query)}
    if what in ("cache", "state"):
        shape = (2, 6) if what == "cache" else (12,)
        return {"model": Remembers(), "inputs": {"input_ids": torch.zeros(shape, dtype=int)}}
    call, *shapes = CALLS[what]
    return {"model": Calls(call), "inputs": tuple(torch.randn(shape) for shape in shapes)}
"""
# of 128 queries and keys, two heads of 16: two products of 2 x 128 x 128 x 16 each
FLEX_FLOPS = 2 * 2 * 2 * 128 * 128 * 16


OPERATORS = (
    "a product of someone's own",
    "a matrix and a vector",
    "distances",
    "a solver",
    "softmax",
    "in place",
    "upsampling",
    "a sparse product",
)
NAMES = (*["lstm", "encoder", "converted", "experts", "flex", "cache", "state"], *OPERATORS)


@pytest.fixture(scope="module")
def odd(bed: Bed) -> dict[str, Observed]:
    """All of them, counted in one process."""
    bed.write("odd/odd.py", ODD)
    return bed.observe_all(
        "intensity",
        [
            bed.subject("odd/odd.py:build", "prefill", id=what, params={"what": what})
            for what in NAMES
        ],
    )


def test_what_is_written_in_place_is_in_one_memory(odd: dict[str, Observed]) -> None:
    assert figures(odd["in place"])["activations_bytes"] == 4 * 16 * 16
    assert figures(odd["softmax"])["activations_bytes"] == 2 * 4 * 16 * 16


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("a product of someone's own", "product"),
        ("a matrix and a vector", "mv"),
        ("distances", "euclidean_dist"),
        ("a solver", "solve"),
        ("lstm", "rnn"),
        ("encoder", "transformer_encoder"),
    ],
)
def test_work_without_a_formula_is_named_as_not_counted(
    odd: dict[str, Observed], what: str, words: str
) -> None:
    assert any(words in op for op in figures(odd[what])["uncounted"])


@pytest.mark.parametrize("what", ["softmax", "upsampling"])
def test_work_of_the_size_of_its_tensors_is_not(odd: dict[str, Observed], what: str) -> None:
    assert figures(odd[what])["uncounted"] == []


def test_a_converted_model_too_large_for_this_machine_is_counted_without_its_weights(
    odd: dict[str, Observed],
) -> None:
    found = odd["converted"]
    assert said(found, "note") == []
    assert figures(found)["params_bytes"] == 2 * 2**39


def test_experts_in_one_product_are_counted_by_hand(odd: dict[str, Observed]) -> None:
    assert figures(odd["experts"])["flops"] == 2 * 8 * 16 * 32


def test_flex_attention_is_counted(odd: dict[str, Observed]) -> None:
    assert figures(odd["flex"])["flops"] == FLEX_FLOPS


def test_sparse_tensors_have_the_size_of_their_parts(odd: dict[str, Observed]) -> None:
    found = odd["a sparse product"]
    assert figures(found)["uncounted"]


def test_only_what_grows_with_tokens_is_counted_by_token(odd: dict[str, Observed]) -> None:
    cache, state = figures(odd["cache"]), figures(odd["state"])
    # keys and values of two heads of four, four bytes each
    assert cache["kv_bytes_per_token"] == 2 * 2 * 4 * 4
    assert state["kv_bytes_per_token"] is None
    assert state["kv_bytes"] == 4 * 5
