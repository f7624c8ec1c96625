"""Kernels of the toy device that are wrong in the ways real ones have been.

Each is registered in the dispatcher as a backend registers its kernels, so that the map finds it
as it would find a real one. They compute on the host.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _put(out: Any, value: Any) -> Any:
    if out.shape != value.shape:
        out.resize_(value.shape)
    return out.copy_(value.to(out.dtype))


def _gelu_tanh(x: Any, approximate: str = "none", *, out: Any) -> Any:
    """The tanh approximation in place of the exact function, whatever was asked."""
    del approximate
    return _put(out, torch.nn.functional.gelu(x.cpu(), approximate="tanh"))


def _sum_tail(
    x: Any,
    dim: Any,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any,
) -> Any:
    """A vectorised loop without its remainder: what is not a multiple of 8 is not summed."""
    host = x.cpu()
    axis = (dim[0] if dim else -1) if host.dim() else None
    if axis is not None and host.shape[axis] > 8 and host.shape[axis] % 8:
        host = host.narrow(axis, 0, host.shape[axis] // 8 * 8)
    return _put(out, torch.sum(host, dim, keepdim, dtype=dtype))


def _softmax_unshifted(x: Any, dim: int, half_to_float: bool, *, out: Any) -> Any:
    """exp without subtracting the maximum: overflows for large logits."""
    del half_to_float
    powers = x.cpu().float().exp()
    return _put(out, powers / powers.sum(dim, keepdim=True) if x.dim() else torch.ones(()))


def _mm_bf16_accumulate(a: Any, b: Any, *, out: Any) -> Any:
    """Sums of products kept in bfloat16 rather than in float."""
    left, right = a.cpu(), b.cpu()
    if left.dtype != torch.bfloat16:
        return _put(out, left @ right)
    total = torch.zeros(left.shape[0], right.shape[1], dtype=torch.bfloat16)
    for k in range(left.shape[1]):
        total = total + left[:, k : k + 1] * right[k : k + 1, :]
    return _put(out, total)


def _gelu_backward(gradient: Any, x: Any, approximate: str = "none", *, grad_input: Any) -> Any:
    """A gradient that is 1 % too large."""
    exact = torch.ops.aten.gelu_backward(gradient.cpu(), x.cpu(), approximate=approximate)
    return _put(grad_input, exact * 1.01)


def _index_select_empty(x: Any, dim: int, index: Any) -> Any:
    """A launch with no threads, which the device refuses."""
    if index.numel() == 0:
        raise RuntimeError("device fault: empty launch")
    return torch.index_select(x.cpu(), dim, index.cpu()).to("toy")


def _exp2_abort(x: Any, *, out: Any) -> Any:
    """Kills the process, as a bad address does."""
    del x, out
    os.abort()


def _hang(x: Any, *, out: Any) -> Any:
    """Never comes back, as a kernel that waits for a signal nobody sends."""
    del x, out
    time.sleep(3600)


def _argmax_first(x: Any, dim: Any = None, keepdim: bool = False, *, out: Any) -> Any:
    """Always the first element."""
    return _put(out, torch.argmax(x.cpu(), dim, keepdim) * 0)


def _topk_indices(
    x: Any,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,  # noqa: A002
    *,
    values: Any,
    indices: Any,
) -> Any:
    """The right values, and the places of others."""
    right = torch.topk(x.cpu(), k, dim, largest, sorted)
    return _put(values, right.values), _put(indices, right.indices.flip(dim))


def _abs_of_integers(x: Any, *, out: Any) -> Any:
    """Right for numbers with a point; whole ones come back as they were."""
    host = x.cpu()
    return _put(out, torch.abs(host) if host.is_floating_point() else host)


def _addcdiv(x: Any, one: Any, other: Any, *, value: Any = 1, out: Any) -> Any:
    """A step of an optimizer that is a tenth too long."""
    return _put(out, torch.addcdiv(x.cpu(), one.cpu(), other.cpu(), value=1.1 * value))


KERNELS: dict[str, tuple[str, Callable[..., Any]]] = {
    "gelu_tanh": ("gelu.out", _gelu_tanh),
    "sum_tail": ("sum.IntList_out", _sum_tail),
    "softmax_unshifted": ("_softmax.out", _softmax_unshifted),
    "mm_bf16_accumulate": ("mm.out", _mm_bf16_accumulate),
    "gelu_backward": ("gelu_backward.grad_input", _gelu_backward),
    "index_select_empty": ("index_select", _index_select_empty),
    "argmax_first": ("argmax.out", _argmax_first),
    "topk_indices": ("topk.values", _topk_indices),
    "abs_of_integers": ("abs.out", _abs_of_integers),
    "addcdiv": ("addcdiv.out", _addcdiv),
    "crash": ("exp2.out", _exp2_abort),
    "hang": ("sinh.out", _hang),
}


def plant(names: Iterable[str]) -> Any:
    """Register the named defects; keep the result, with which the registrations end."""
    library = torch.library.Library("aten", "IMPL")
    for name in names:
        operator, kernel = KERNELS[name]
        library.impl(operator, kernel, "PrivateUse1", allow_override=True)
    return library
