"""What a comparison with float64 cannot decide, and why: said in the report, never passed over."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from .tensors import tensors_in

UNINITIALISED = frozenset(
    [
        "empty",
        "empty_like",
        "empty_strided",
        "empty_permuted",
        "new_empty",
        "new_empty_strided",
        "resize_",
        "resize_as_",
    ]
)
# views and fills, which every backend starts with
STRUCTURAL = frozenset(
    [
        "detach",
        "alias",
        "view",
        "_unsafe_view",
        "as_strided",
        "expand",
        "permute",
        "transpose",
        "t",
        "slice",
        "select",
        "unsqueeze",
        "squeeze",
        "split",
        "split_with_sizes",
        "unbind",
        "lift_fresh",
        "diagonal",
        "unfold",
        "empty",
        "zeros",
        "ones",
        "full",
        "arange",
        "scalar_tensor",
    ]
)
# PyTorch's own samples bring a function that makes the result unique for svd and its like (absolute
# values, a product); these have none and are free up to sign, phase, order or a basis
NOT_UNIQUE = frozenset(
    [
        "linalg.eig",
        "linalg.lu",
        "linalg.lu_factor",
        "linalg.lu_factor_ex",
        "lu",
        "lu_unpack",
        "linalg.ldl_factor",
        "linalg.ldl_factor_ex",
        "linalg.qr",
        "qr",
        "geqrf",
        "ormqr",
        "linalg.eigvals",
        "nn.functional.fractional_max_pool2d",
        "nn.functional.fractional_max_pool3d",
    ]
)
# which of several equal elements is meant is the kernel's choice: values are judged, and indices
# where no two elements are equal
TIED_INDICES = frozenset(
    [
        "sort",
        "argsort",
        "msort",
        "topk",
        "kthvalue",
        "mode",
        "median",
        "nanmedian",
        "max",
        "min",
        "argmax",
        "argmin",
        "aminmax",
        "cummax",
        "cummin",
        "unique",
        "unique_consecutive",
        "nn.functional.max_pool1d",
        "nn.functional.max_pool2d",
        "nn.functional.max_pool3d",
        "nn.functional.adaptive_max_pool1d",
        "nn.functional.adaptive_max_pool2d",
        "nn.functional.adaptive_max_pool3d",
    ]
)
# of these not even different elements have one index: their order, or which is the most frequent
TIED_ANYWAY = frozenset(["unique", "mode"])
# a step moves with the rounding of the input, and the largest or next number is the dtype's own:
# float64 answers another question, and the CPU's own dtype is the reference
OWN_DTYPE = frozenset(
    [
        "floor_divide",
        "remainder",
        "fmod",
        "floor",
        "ceil",
        "trunc",
        "round",
        "frac",
        "sign",
        "heaviside",
        "nan_to_num",
        "nextafter",
    ]
)
# a cast rounds once, to the nearest: the CPU's own result is the only right one
CASTS = frozenset(["to", "bfloat16", "half", "float", "double"])
# PyTorch wants their indices in the CPU's memory, whatever the device
INDICES_ON_HOST = frozenset(["tensor_split"])


def free_indices(name: str, args: Any) -> bool:
    """Whether indices among a call's results are the kernel's choice: its input has equals."""
    if name not in TIED_INDICES:
        return False
    values = next(iter(tensors_in(args)), None)
    return values is None or name in TIED_ANYWAY or not _distinct(values)


def _distinct(values: Any) -> bool:
    flat = values.detach().reshape(-1)
    if flat.is_complex() or bool(flat.isnan().any()):
        return False
    return len(flat.unique()) == len(flat)


def untestable(name: str) -> Optional[str]:
    """Why an operator's results cannot be compared at all; None when they can."""
    if name in UNINITIALISED:
        return "its result is uninitialised memory"
    if name in NOT_UNIQUE:
        return "its result is not unique"
    return None


def degenerate(name: str, args: Sequence[Any]) -> Optional[str]:
    """Why one call has no result worth comparing; None when it has."""
    if name in ("nn.functional.layer_norm", "native_layer_norm") and args:
        shape = args[0]
        if isinstance(shape, (tuple, list)) and all(size == 1 for size in shape):
            return "it normalises one element: what is left is rounding"
    return None
