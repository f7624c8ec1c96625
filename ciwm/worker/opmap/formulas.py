"""FLOPs that torch's own registry of formulas does not count, and operators that stay uncounted."""

from __future__ import annotations

from typing import Any

# in the names of torch's operators without a formula whose work is more than their tensors' size
_WORDS = (
    *("mm", "mv", "dot", "matmul", "conv", "attention", "linear", "addr", "einsum"),
    *("lstm", "gru", "rnn", "transformer", "fft", "cdist", "pdist", "euclidean"),
    *("linalg", "cholesky", "solve", "geqrf", "ormqr", "householder"),
)
# those of torch itself: what the operator of anyone else computes is not known
_TORCH = ("aten", "prim", "prims", "profiler", "c10d", "_c10d_functional", "fsdp", "dtensor")


def computes(op: str) -> bool:
    """Whether an operator without a formula may do work that the count would lack."""
    space, _, name = op.partition(".")
    if space not in _TORCH:
        return True
    return space == "aten" and "upsample" not in name and any(word in name for word in _WORDS)


def teach() -> None:
    """Register the formulas that are lacking, once in a process."""
    _attention()
    _grouped_products()


def _grouped_products() -> None:
    """The experts of a mixture in one product: each row meets one expert's matrix."""
    import torch
    from torch.utils import flop_counter as counter

    def of(a: Any, b: Any, *_args: Any, **_kwargs: Any) -> int:
        groups = a[0] if len(a) == len(b) == 3 else 1  # noqa: PLR2004  else split along one side
        return int(2 * groups * a[-2] * a[-1] * b[-1])

    for name in ("_grouped_mm", "_scaled_grouped_mm"):
        op = getattr(torch.ops.aten, name, None)  # from torch 2.8 on
        if op is not None and op not in counter.flop_registry:
            counter.register_flop_formula(op)(of)


def _attention() -> None:
    """The CPU's attention counted 0 FLOPs up to torch 2.13 (pytorch#195460)."""
    import torch
    from torch.utils import flop_counter as counter

    forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu  # noqa: SLF001
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward  # noqa: SLF001

    def of_forward(q: Any, k: Any, v: Any, *_args: Any, **_kwargs: Any) -> Any:
        return counter.sdpa_flop_count(q, k, v)

    def of_backward(g: Any, q: Any, k: Any, v: Any, *_args: Any, **_kwargs: Any) -> Any:
        return counter.sdpa_backward_flop_count(g, q, k, v)

    for op, formula in ((forward, of_forward), (backward, of_backward)):
        if op not in counter.flop_registry:
            counter.register_flop_formula(op)(formula)
