"""One verdict for one tensor: the device's result beside float64's and beside the CPU's own.

strict   within the tolerance torch.testing has for the dtype, element by element, of the result
         computed in float64 on the CPU; integers and booleans: equal
drift    outside of it, and yet no further from float64 than four times what the CPU's own result
         in the same dtype is, or what rounding the inputs can do, and two roundings of the largest
         element; or right in a wider dtype than the CPU's
WRONG    further than that, or another shape, dtype, pattern of NaN and infinity
"""

from __future__ import annotations

import math
from typing import Any, List, NamedTuple, Optional, Sequence

VERDICTS = ("strict", "drift", "untestable", "timeout", "crash", "error", "WRONG")  # worst last
FAILED = ("timeout", "crash", "error", "WRONG")
EMPTY = "no elements"  # a pass that proves nothing but that it came back
ENVELOPE = 4.0  # times the CPU's own error in the same dtype
ROUNDINGS = 2.0  # times eps times the largest element
TOLERANCES = {  # torch.testing's defaults: relative, absolute
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class Judged(NamedTuple):
    """A verdict, the largest absolute errors against float64, and why it is not strict."""

    verdict: str
    error_device: float
    error_cpu: float
    detail: str


def worst(verdicts: List[str]) -> str:
    """The worst of some verdicts; `untestable` when there is none."""
    return max(verdicts, key=VERDICTS.index) if verdicts else "untestable"


def judge(device: Any, low: Any, exact: Any, moved: Sequence[Any] = ()) -> Judged:
    """Compare a device's tensor with the CPU's in the same dtype and with the float64 one.

    `moved` are float64 results of inputs moved by half a rounding of the dtype, where wanted.
    All lie on the CPU.
    """
    different = _form(device, low)
    if different is not None:
        return Judged("WRONG", math.inf, 0.0, different)
    if str(device.layout) != "torch.strided":
        device, low, exact = (each.to_dense() for each in (device, low, exact))
        moved = ()
    if not (device.is_floating_point() or device.is_complex()):
        return _equal(device, low, exact)
    judged = _close(device, low, exact, moved)
    if device.dtype == low.dtype or judged.verdict != "strict":
        return judged
    return judged._replace(verdict="drift", detail=f"{device.dtype} instead of {low.dtype}")


def cast(device: Any, low: Any, judged: Judged) -> Judged:
    """The verdict on a cast: what is close and not the nearest is wrong."""
    if judged.verdict not in ("strict", "drift"):
        return judged
    off = int((~same(device, low)).sum())
    if not off:
        return judged._replace(verdict="strict", detail="" if device.numel() else EMPTY)
    detail = f"{off} of {device.numel()} elements are not rounded to the nearest"
    return judged._replace(verdict="WRONG", detail=detail)


def _form(device: Any, low: Any) -> Optional[str]:
    if device.shape != low.shape:
        return "shape {} instead of {}".format(tuple(device.shape), tuple(low.shape))
    if device.dtype != low.dtype and not _widened(device, low):
        return "{} instead of {}".format(device.dtype, low.dtype)
    if device.layout != low.layout:
        return "{} instead of {}".format(device.layout, low.layout)
    return None


def _widened(device: Any, low: Any) -> bool:
    """Statistics kept in float32 beside 16-bit results are a device's choice."""
    both = device.is_floating_point() and low.is_floating_point()
    return bool(both and device.dtype.itemsize > low.dtype.itemsize)


def _equal(device: Any, low: Any, exact: Any) -> Judged:
    """Whole numbers: what the CPU says in the same dtype, or what float64 leads to."""
    right = device == low
    if exact.shape == device.shape:
        right = right | (device == exact.to(device.dtype))
    wrong = int((~right).sum())
    if not wrong:
        return Judged("strict", 0.0, 0.0, "")
    return Judged("WRONG", float(wrong), 0.0, f"{wrong} of {device.numel()} elements differ")


def _close(device: Any, low: Any, exact: Any, moved: Sequence[Any]) -> Judged:
    import torch

    if device.numel() == 0:
        return Judged("strict", 0.0, 0.0, EMPTY)
    name = str(low.dtype).split(".")[-1]
    wide = torch.complex128 if low.is_complex() else torch.float64
    device, low, exact = (each.to(wide) for each in (device, low, exact))
    finite = torch.isfinite(exact) & torch.isfinite(low)
    odd = _odd(device, low, exact, finite)
    if odd:
        return Judged("WRONG", math.inf, 0.0, odd)
    if not bool(finite.any()):
        return Judged("strict", 0.0, 0.0, "")
    device, low, exact = device[finite], low[finite], exact[finite]
    error = (device - exact).abs()
    relative, absolute = TOLERANCES.get(name, TOLERANCES["bfloat16"])
    strict = bool((error <= absolute + relative * exact.abs()).all())
    largest, own = float(error.max()), float((low - exact).abs().max())
    if strict:
        return Judged("strict", largest, own, "")
    scale = float(exact.abs().max())
    eps = torch.finfo(getattr(torch, name)).eps
    sway = max((_largest((each.to(wide)[finite] - exact).abs()) for each in moved), default=0.0)
    limit = ENVELOPE * max(own, sway) + ROUNDINGS * eps * scale
    detail = f"off by {largest:.3g} of {scale:.3g}, the CPU in {name} by {own:.3g}"
    return Judged("drift" if largest <= limit else "WRONG", largest, own, detail)


def _largest(errors: Any) -> float:
    """The largest finite one; a step that the moved input fell over may give an infinite one."""
    return float(errors.nan_to_num(0.0, 0.0, 0.0).max())


def _odd(device: Any, low: Any, exact: Any, finite: Any) -> str:
    """What is wrong about NaN and infinity; "" when nothing is.

    Where the CPU's dtype overflows and float64 does not, either of their answers is right.
    """
    import torch

    invented = finite & ~torch.isfinite(device)
    if bool(invented.any()):
        count = int(invented.sum())
        return f"{count} of {device.numel()} elements are NaN or infinite, and should not be"
    rest = ~finite
    as_low = same(device, low) | same(device, exact)
    # finite beside an overflow of the CPU's: right when float64 is finite too
    as_low = as_low | (torch.isfinite(device) & torch.isfinite(exact))
    missed = rest & ~as_low
    if bool(missed.any()):
        count = int(missed.sum())
        return f"{count} of {device.numel()} elements should be NaN or infinite, and are not so"
    return ""


def same(left: Any, right: Any) -> Any:
    """Element by element, whether two tensors of one shape are equal; NaN is equal to NaN."""
    import torch

    return (left == right) | (torch.isnan(left) & torch.isnan(right))
