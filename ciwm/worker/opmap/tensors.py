"""Moving a call's arguments to another dtype and device without losing their strides.

`Tensor.to` makes a slice with gaps contiguous, and then a kernel that ignores strides passes.
"""

from __future__ import annotations

from typing import Any, Callable, List


def of_map(change: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree of arguments with each tensor changed."""
    import torch
    from torch.utils._pytree import tree_map

    return tree_map(lambda leaf: change(leaf) if isinstance(leaf, torch.Tensor) else leaf, tree)


def tensors_in(tree: Any) -> List[Any]:
    """Every tensor in a tree of arguments or results, in order."""
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def results_in(tree: Any) -> List[Any]:
    """Every tensor among results, in order; a number or a truth value as one, too."""
    import torch
    from torch.utils._pytree import tree_leaves

    return [
        leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf)
        for leaf in tree_leaves(tree)
        if isinstance(leaf, (torch.Tensor, bool, int, float, complex))
    ]


def wider(dtype: Any) -> Any:
    """The dtype of the reference: float64, or complex128 for complex numbers."""
    import torch

    return torch.complex128 if dtype.is_complex else torch.float64


def placed(tensor: Any, low: Any, dtype: Any, device: Any) -> Any:
    """A fresh leaf on `device` with the same strides and offset; of `dtype` if it was of `low`."""
    wanted = dtype if tensor.dtype == low else tensor.dtype
    with _no_grad():
        moved = _moved(tensor.detach(), wanted, device)
    return moved.requires_grad_(tensor.requires_grad) if tensor.requires_grad else moved


def _no_grad() -> Any:
    import torch

    return torch.no_grad()


def _moved(tensor: Any, dtype: Any, device: Any) -> Any:
    import torch

    plain = tensor.layout != torch.strided or tensor.is_quantized or tensor.numel() == 0
    if plain or tensor.is_conj() or tensor.is_neg():
        return tensor.to(device=device, dtype=dtype, copy=True)
    if tensor.is_contiguous() and not tensor.storage_offset():
        return tensor.to(device=device, dtype=dtype, copy=True)
    span = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    whole = tensor.as_strided((tensor.storage_offset() + span,), (1,), 0)
    whole = whole.to(device=device, dtype=dtype, copy=True)
    return whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def sway(tensor: Any, low: Any, shift: float, seed: int) -> Any:
    """A floating tensor of dtype `low` in float64, each element up or down by a relative shift."""
    import torch

    if tensor.dtype != low or not shift or tensor.layout != torch.strided:
        return tensor
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, tensor.shape, generator=generator, dtype=torch.float64) * 2 - 1
    moved = tensor.detach().to(wider(low)) * (1 + shift * signs)
    return moved.requires_grad_(tensor.requires_grad)


def spread(tensor: Any) -> Any:
    """The same values with gaps between all elements, behind an offset: strides of 3 and more."""
    import torch

    if tensor.dim() == 0:
        buffer = torch.zeros(6, dtype=tensor.dtype)
        return buffer.as_strided((), (), 5).copy_(tensor)
    shape = [n + 1 for n in tensor.shape[:-1]] + [3 * tensor.shape[-1] + 5]
    buffer = torch.zeros(shape, dtype=tensor.dtype)
    where = [slice(1, None) for _ in tensor.shape[:-1]] + [slice(5, None, 3)]
    view = buffer[tuple(where)]
    return view.copy_(tensor)


def described(tree: Any) -> str:
    """Shapes, dtypes, strides and scalars of a call's arguments, on one line, cut at 200."""
    import torch

    def one(value: Any) -> str:
        if not isinstance(value, torch.Tensor):
            text = repr(value)
            return text if len(text) < 40 else text[:37] + "..."  # noqa: PLR2004
        kind = str(value.dtype).split(".")[-1]
        shape = "x".join(map(str, value.shape)) or "scalar"
        if value.layout == torch.strided and not value.is_contiguous():
            return f"{kind}[{shape} strides {tuple(value.stride())}]"
        return f"{kind}[{shape}]"

    return ", ".join(_leaves(tree, one))[:200]


def _leaves(tree: Any, one: Callable[[Any], str]) -> List[str]:
    if isinstance(tree, dict):
        return [f"{key}={', '.join(_leaves(value, one))}" for key, value in tree.items()]
    if isinstance(tree, (list, tuple)):
        return [text for each in tree for text in _leaves(each, one)]
    return [one(tree)]
