"""What a step may return, and what makes it invalid."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any, Dict, List

from .problem import Problem

INFINITY = math.inf


def refuse_unrun(result: Any) -> None:
    """Raise Problem when the step only made a coroutine or generator: nothing ran."""
    if hasattr(result, "send") and hasattr(result, "throw"):
        kind = type(result).__name__
        raise Problem("invalid", f"the step returned a {kind}, so nothing of it ran")


def check_number(result: Any) -> None:
    """Raise Problem when the step returned a float that is not finite."""
    if isinstance(result, float) and not math.isfinite(result):
        raise Problem("invalid", f"the step returned {result}")


def check_tensor(result: Any) -> None:
    """Raise Problem when the step returned a tensor that is not finite; synchronises."""
    tensor: Any = getattr(sys.modules.get("torch"), "Tensor", None)
    if tensor is None or not isinstance(result, tensor):
        return
    if not result.dtype.is_floating_point or result.is_sparse or result.numel() == 0:
        return
    if not bool(result.isfinite().all()):
        raise Problem("invalid", "the step returned a tensor with NaN or infinity in it")


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
