"""What torch itself knows of operators: a decomposition, a meta kernel, a lowering of Inductor."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping

from .manifest import row
from .stages import Emit


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Emit how Inductor serves each of `options.ops`; importing it takes seconds."""
    from torch._inductor import decomposition, lowering

    for op in job["options"]["ops"]:
        found = operator(op)
        if found in lowering.fallbacks:
            served = "fallback"
        elif found in lowering.lowerings:
            served = "lowering"
        else:
            served = "decomposition" if found in decomposition.decompositions else ""
        emit({"op": op, "inductor": served})


def known_of(op: str) -> Dict[str, bool]:
    """Whether an operator has a decomposition and a meta kernel."""
    from torch._decomp import decomposition_table

    kind, _file = row(op, "Meta")
    return {"decomposition": operator(op) in decomposition_table, "meta": kind != "missing"}


def known_operators() -> List[str]:
    """Every operator that this torch, and what was imported with it, registers."""
    import torch

    return sorted(torch._C._dispatch_get_all_op_names())  # noqa: SLF001  torchgen reads it too


def operator(op: str) -> Any:
    """torch.ops' object of an operator by its full name; None where this torch has none."""
    import torch

    space, _, rest = op.partition("::")
    name, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, space), name, None)
    return getattr(packet, overload or "default", None)
