"""Which kernels a check is a check of: what the operator comes to on the device, below autograd.

A check says something of a kernel when the operator is called like it, or reaches no other. What an
operator needs besides (a product inside of a norm) is not thereby checked, nor to blame.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Set, Tuple

from .dispatched import watching
from .tensors import tensors_in
from .tolerances import STRUCTURAL, UNINITIALISED

# moves and fills: never what a check is about, unless it is called so
_BESIDES = (
    STRUCTURAL
    | UNINITIALISED
    | {"clone", "copy", "fill", "full_like", "ones_like", "to_copy", "zero", "zeros_like"}
)


def kernels_checked(op: Any, run: Callable[[], Any]) -> Dict[str, List[str]]:
    """Kernels by direction, without overload and the mark of an in-place form (`aten::mul`)."""
    reached: Dict[str, Set[str]] = {"forward": set(), "backward": set()}
    try:
        with _recording(reached):
            run()
    except Exception:  # noqa: BLE001  its verdict is told elsewhere
        return {}
    names = {
        "forward": {op.name.rpartition(".")[2], op.aten_name},
        "backward": {op.aten_backward_name},
    }
    return {
        direction: sorted(_meant(kernels, {_plain(name) for name in names[direction] if name}))
        for direction, kernels in reached.items()
    }


def _meant(kernels: Set[str], names: Set[str]) -> Set[str]:
    """Those that are called so; else the one that computes, where there is only one."""
    named = {kernel for kernel in kernels if _plain(kernel.partition("::")[2]) in names}
    if named:
        return named
    computing = {each for each in kernels if _plain(each.partition("::")[2]) not in _BESIDES}
    return computing if len(computing) == 1 else set()


def _plain(name: str) -> str:
    return name.strip("_")


def _recording(reached: Dict[str, Set[str]]) -> Any:
    """A context that keeps what is dispatched with a tensor of a device, not of the CPU."""
    import torch

    def take(func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        if any(each.device.type != "cpu" for each in tensors_in((args, kwargs))):
            node = torch._C._current_autograd_node()  # noqa: SLF001  there is no other door
            name = func._schema.name.rstrip("_")  # noqa: SLF001
            reached["forward" if node is None else "backward"].add(name)

    return watching(take)
