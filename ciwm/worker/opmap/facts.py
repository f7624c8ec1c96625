"""What torch itself knows of operators: a decomposition, a meta kernel, a lowering of Inductor."""

from __future__ import annotations

from typing import Any, Mapping

from .ghost import operator
from .manifest import row
from .stages import Emit


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Emit the facts of each of `options.ops`; Inductor is imported only for `options.inductor`."""
    import torch
    from torch._decomp import decomposition_table

    options = job["options"]
    served = _inductor() if options.get("inductor") else (lambda _op: "")
    known = set(torch._C._dispatch_get_all_op_names())  # noqa: SLF001  torchgen reads it too
    for op in options["ops"]:
        if op not in known:
            emit({"op": op, "known": False})
            continue
        found = operator(op)
        kind, _file = row(op, "Meta")
        emit(
            {
                "op": op,
                "known": True,
                "decomposition": found in decomposition_table,
                "meta": kind != "missing",
                "inductor": served(found),
            }
        )
    emit({"all": sorted(known)})


def _inductor() -> Any:
    from torch._inductor import decomposition, lowering

    def served(op: Any) -> str:
        if op in lowering.fallbacks:
            return "fallback"
        if op in lowering.lowerings:
            return "lowering"
        return "decomposition" if op in decomposition.decompositions else ""

    return served
