"""What a step may return, and what makes it invalid."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, Dict, List

from .problem import Problem

INFINITY = math.inf
_GENERATES = (("send", "throw"), ("asend", "athrow"))
_LAZY = (map, filter, zip)


def refuse_unrun(result: Any) -> None:
    """Raise Problem when the step only made, or began, what was to be measured."""
    made, kind = type(result), _named(result)
    generates = any(hasattr(made, name) and hasattr(made, more) for name, more in _GENERATES)
    if generates or isinstance(result, _LAZY):
        raise Problem("invalid", f"the step returned {kind}, so nothing of it ran")
    # asyncio's and concurrent's futures, torch's, Ray's references, handles of torch.distributed
    if hasattr(made, "__await__") or hasattr(made, "add_done_callback") or _is_handle(made):
        raise Problem("invalid", f"the step returned {kind}, and did not wait for its work")


def _named(result: Any) -> str:
    name = type(result).__name__
    return ("an " if name[0] in "aeiou" else "a ") + name


def _is_handle(made: type) -> bool:
    return hasattr(made, "is_completed") and hasattr(made, "wait")


def check_number(result: Any) -> None:
    """Raise Problem when the step returned a float that is not finite."""
    if isinstance(result, float) and not math.isfinite(result):
        raise Problem("invalid", f"the step returned {result}")


def check_last(result: Any) -> None:
    """Raise Problem when the step at last returned a tensor, or what numpy has, with NaN in it.

    Synchronises, so that it is asked once.
    """
    if _is_tensor(result) and not bool(result.isfinite().all()):
        raise Problem("invalid", "the step returned a tensor with NaN or infinity in it")
    numpy: Any = sys.modules.get("numpy")
    kinds = getattr(numpy, "generic", ()), getattr(numpy, "ndarray", ())
    if isinstance(result, kinds) and result.dtype.kind in "fc" and not numpy.isfinite(result).all():
        raise Problem("invalid", f"the step returned {_named(result)} that is not finite")


def _is_tensor(result: Any) -> bool:
    """Whether it is a tensor of torch with numbers that may be NaN."""
    tensor: Any = getattr(sys.modules.get("torch"), "Tensor", None)
    if tensor is None or not isinstance(result, tensor):
        return False
    return bool(result.is_floating_point()) and not result.is_sparse and result.numel() > 0


def refuse_time(value: float, series: str) -> None:
    """Raise Problem for a time that no ratio can be made of: zero, NaN or infinity."""
    raise Problem("invalid", f"a step of {series} took {value:g}: too short for the clock")


def reported(result: Any, metrics: List[str]) -> Dict[str, float]:
    """The declared metrics out of the mapping a step returned."""
    if not isinstance(result, Mapping):
        kind = type(result).__name__
        raise Problem("invalid", f"the step returned {kind}, not a mapping with {metrics[0]}")
    missing = [name for name in metrics if name not in result]
    if missing:
        have = ", ".join(map(str, result)) or "nothing"
        raise Problem("invalid", f"the step did not report {missing[0]} (it has: {have})")
    return {name: _number(result[name], name) for name in metrics}


def _number(value: Any, name: str) -> float:
    if isinstance(value, (bool, str)):
        raise Problem("invalid", f"{name} is {value!r}, not a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise Problem("invalid", f"{name} is a {type(value).__name__}, not a number") from None
    if not math.isfinite(number):
        raise Problem("invalid", f"{name} is {number}")
    return number
