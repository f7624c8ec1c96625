"""The workload's own calls, kept with their arguments on the CPU.

Captured above the backend and below autograd, so backward and optimizer calls are among them, and
those of operators that are not PyTorch's own.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Tuple

from .dispatched import watching
from .tensors import described, of_map, placed, tensors_in
from .tolerances import STRUCTURAL, UNINITIALISED

CALL_BYTES = 64 << 20  # of one kept call's tensors
KEPT_BYTES = 1 << 30  # of all kept calls
CALLS_PER_OPERATOR = 6  # distinct ones
NO_KERNELS = frozenset(  # namespaces of the machinery; collectives are another observer's
    [
        "prim",
        "profiler",
        "inductor",
        "c10d",
        "c10d_functional",
        "_c10d_functional",
        "_c10d_functional_autograd",
        "_dtensor",
        "symm_mem",
    ]
)
ATEN = "aten"


class Call(NamedTuple):
    """One call as it was made: the overload and its arguments, on the CPU."""

    overload: Any
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]


class Captured:
    """The distinct calls of a workload, and how many could not be kept: too large, or no copy."""

    def __init__(self) -> None:
        self.calls: Dict[str, List[Call]] = {}
        self.too_large = 0
        self._seen: set[str] = set()
        self._bytes = 0

    def take(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Keep a call, unless its like is kept, or it is too large."""
        name = str(func)
        if not _computes(name):
            return
        key = name + described((args, kwargs))
        mine = self.calls.setdefault(name, [])
        if key in self._seen or len(mine) >= CALLS_PER_OPERATOR:
            return
        self._seen.add(key)
        size = sum(each.numel() * each.element_size() for each in tensors_in((args, kwargs)))
        if size > CALL_BYTES or self._bytes + size > KEPT_BYTES:
            self.too_large += 1
            return
        try:
            kept = of_map(_kept, (args, kwargs))
        except Exception:  # noqa: BLE001  a tensor without data, or in a layout of its own
            self.too_large += 1
            return
        self._bytes += size
        mine.append(Call(func, *kept))


def _computes(name: str) -> bool:
    """Whether an overload (`aten.add.Tensor`) has a kernel; a higher-order operator has none."""
    space, _, base = name.rpartition(".")[0].partition(".")
    if space == ATEN:
        return base not in STRUCTURAL and base not in UNINITIALISED
    return bool(base) and space not in NO_KERNELS


def _kept(tensor: Any) -> Any:
    return placed(tensor.detach(), tensor.dtype, tensor.dtype, "cpu")


def capture(steps: Iterable[Callable[[], Any]], captured: Captured) -> None:
    """Run the steps of a workload and keep its calls."""
    with watching(captured.take):
        for step in steps:
            step()
