"""Defects planted on purpose, to measure what a sample plan would have caught.

Each replaces one operator below autograd by a wrong one, through a dispatch mode, so that nothing
has to be built and no device is needed. The plan under test is then run on the CPU, defect by
defect: a report that says "all strict" also says which of these it would have called so.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .dispatched import replacing


class Defect(NamedTuple):
    """What is wrong, in which overloads, how the wrong result is made, and what shows it."""

    what: str
    overloads: Sequence[str]
    wrong: Callable[..., Any]  # (the right operator, *args, **kwargs) -> the wrong result
    operators: Sequence[str]  # of the sweep, which reach the overload


def _gelu_tanh(right: Any, x: Any, **_: Any) -> Any:
    return right(x, approximate="tanh")


def _sum_tail(right: Any, x: Any, dim: Any, *rest: Any, **kwargs: Any) -> Any:
    axis = (dim[0] if dim else -1) if x.dim() else None
    width = 0 if axis is None else x.shape[axis]
    if width > 8 and width % 8:  # noqa: PLR2004
        x = x.narrow(axis, 0, width // 8 * 8)
    return right(x, dim, *rest, **kwargs)


def _softmax_unshifted(right: Any, x: Any, dim: int, *_: Any) -> Any:
    del right
    powers = x.float().exp()
    made = powers / powers.sum(dim, keepdim=True) if x.dim() else powers / powers
    return made.to(x.dtype)


def _mm_low(right: Any, a: Any, b: Any) -> Any:
    if a.dtype.itemsize != 2:  # noqa: PLR2004  of bfloat16 and float16
        return right(a, b)
    total = a.new_zeros((a.shape[0], b.shape[1]))
    for k in range(a.shape[1]):
        total = total + a[:, k : k + 1] * b[k : k + 1, :]
    return total


def _one_percent(right: Any, *args: Any, **kwargs: Any) -> Any:
    return right(*args, **kwargs) * 1.01


def _empty_launch(right: Any, x: Any, dim: int, index: Any) -> Any:
    if index.numel() == 0:
        raise RuntimeError("device fault: a launch of no threads")
    return right(x, dim, index)


def _as_contiguous(tensor: Any, offset: int) -> Any:
    """The first elements of the storage from an offset, in the order they lie there."""
    strides: List[int] = []
    step = 1
    for size in reversed(tensor.shape):
        strides.insert(0, step)
        step *= max(1, size)
    return tensor.as_strided(tensor.shape, strides, offset)


def _strides_ignored(right: Any, a: Any, b: Any) -> Any:
    import torch

    if not isinstance(b, torch.Tensor) or a.shape != b.shape or a.numel() == 0:
        return right(a, b)
    return right(*(_as_contiguous(each, each.storage_offset()) for each in (a, b)))


def _offset_ignored(right: Any, x: Any) -> Any:
    return right(x.as_strided(x.shape, x.stride(), 0) if x.numel() else x)


def _cut_off(right: Any, x: Any, **kwargs: Any) -> Any:
    import torch

    if x.dtype != torch.float32 or kwargs.get("dtype") != torch.bfloat16:
        return right(x, **kwargs)
    bits = x.contiguous().view(torch.int32).bitwise_and(-0x10000)
    return right(bits.view(torch.float32), **kwargs)


def _mask_finite(right: Any, x: Any, mask: Any, value: Any) -> Any:
    return right(x, mask, -1e4 if value == float("-inf") else value)


def _nan_dropped(right: Any, x: Any) -> Any:
    return right(x).nan_to_num(0.0, float("inf"))


def _cancelling(right: Any, x: Any, shape: Any, *rest: Any) -> Any:
    weight, bias, eps = rest
    _, mean, _ = right(x, shape, weight, bias, eps)
    dims = tuple(range(-len(shape), 0))
    wide = x.float()
    variance = (wide * wide).mean(dims, keepdim=True) - wide.mean(dims, keepdim=True) ** 2
    rstd = (variance.clamp(min=0) + eps).rsqrt()
    made = (wide - wide.mean(dims, keepdim=True)) * rstd
    made = made if weight is None else made * weight
    made = made if bias is None else made + bias
    return made.to(x.dtype), mean, rstd.to(mean.dtype)


DEFECTS: Dict[str, Defect] = {
    "gelu_tanh": Defect(
        "gelu by the tanh approximation where the exact one was asked for",
        ("aten.gelu.default",),
        _gelu_tanh,
        ("nn.functional.gelu",),
    ),
    "sum_tail": Defect(
        "a sum that leaves out what is not a multiple of 8",
        ("aten.sum.dim_IntList",),
        _sum_tail,
        ("sum",),
    ),
    "softmax_unshifted": Defect(
        "softmax without subtracting the maximum",
        ("aten._softmax.default",),
        _softmax_unshifted,
        ("softmax",),
    ),
    "mm_low_accumulate": Defect(
        "a matrix product summed in 16 bits",
        ("aten.mm.default",),
        _mm_low,
        ("mm",),
    ),
    "gelu_backward": Defect(
        "a gradient of gelu that is 1 % too large",
        ("aten.gelu_backward.default",),
        _one_percent,
        ("nn.functional.gelu",),
    ),
    "index_select_empty": Defect(
        "index_select that fails for no indices",
        ("aten.index_select.default",),
        _empty_launch,
        ("index_select",),
    ),
    "strides_ignored": Defect(
        "a product that reads its inputs as if they were contiguous",
        ("aten.mul.Tensor",),
        _strides_ignored,
        ("mul",),
    ),
    "offset_ignored": Defect(
        "a sigmoid that reads from the start of the storage",
        ("aten.sigmoid.default",),
        _offset_ignored,
        ("sigmoid",),
    ),
    "nan_dropped": Defect(
        "a relu that turns NaN into 0",
        ("aten.relu.default",),
        _nan_dropped,
        ("nn.functional.relu",),
    ),
    "cast_cut_off": Defect(
        "a cast to bfloat16 that cuts off what it should round",
        ("aten._to_copy.default",),
        _cut_off,
        ("bfloat16",),
    ),
    "mask_finite": Defect(
        "a masked fill that writes -10000 for minus infinity",
        ("aten.masked_fill.Scalar",),
        _mask_finite,
        ("masked_fill",),
    ),
    "variance_cancels": Defect(
        "a layer norm whose variance is E[x^2] - E[x]^2",
        ("aten.native_layer_norm.default",),
        _cancelling,
        ("nn.functional.layer_norm",),
    ),
}


def planted(name: Optional[str]) -> Any:
    """A context in which the named defect replaces its operator; None: nothing is replaced."""
    if name is None:
        return contextlib.nullcontext()
    defect = DEFECTS[name]

    def call(func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        if str(func) in defect.overloads:
            return defect.wrong(func, *args, **kwargs)
        return func(*args, **kwargs)

    return replacing(call)
