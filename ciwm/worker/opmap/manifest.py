"""The dispatcher's table for one key, dumped where the backend imports.

Not `_dispatch_has_computed_kernel_for_dispatch_key`: that is true for operators whose kernel would
call one that is absent. The row of the table names the kind of kernel and its file.
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict, List, Mapping, Tuple

from ..problem import Problem
from .stages import Emit

MISSING = "missing"
FIRST = "aten::empty.memory_format"  # the kernel without which nothing is ever on a device
KINDS = ("kernel", "backend fallback", "default backend kernel", "math kernel")


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Emit the table of `options.key`, after importing `options.imports`; raises Problem."""
    import torch

    options = job["options"]
    for name in options.get("imports", []):
        importlib.import_module(name)
    key = options["key"]
    try:
        torch._C._dispatch_has_backend_fallback(getattr(torch._C.DispatchKey, key))  # noqa: SLF001
    except AttributeError:
        raise Problem("invalid", f"torch knows no dispatch key {key}") from None
    rows: Dict[str, Dict[str, List[str]]] = {}
    for op in sorted(torch._C._dispatch_get_all_op_names()):  # noqa: SLF001  torchgen reads it too
        kind, file = row(op, key)
        name = op.removeprefix("aten::")
        rows.setdefault(kind, {}).setdefault(file, []).append(name)
    # what torch.distributed registers for every key is no backend
    if row(FIRST, key)[0] != "kernel":
        raise Problem(
            "invalid",
            f"this interpreter has no kernel for {key} that allocates: dump where the backend "
            "imports (a wheel built for it suffices, no device is needed), and name its plugin by "
            "--import",
        )
    emit({"rows": rows, "codegen": _codegen(key), "cuda": str(torch.version.cuda or "")})


def row(op: str, key: str) -> Tuple[str, str]:
    """The kind of the kernel that serves an operator on a key, and the file that registered it."""
    import torch

    table = torch._C._dispatch_dump_table(op)  # noqa: SLF001  the only way to the row itself
    line = next((one for one in table.splitlines() if one.startswith(key + ":")), None)
    if line is None:
        return MISSING, ""
    kind = line[line.rfind("[") + 1 : line.rfind("]")]
    place = line.split("registered at ")[-1].split(" [")[0]
    file = os.path.basename(place.rpartition(":")[0])
    return (kind if kind in KINDS else MISSING), file


def _codegen(key: str) -> bool:
    """Whether Inductor generates code for the device of a key."""
    try:
        from torch._inductor.codegen import common

        common.init_backend_registration()
        return key.lower() in common.device_codegens
    except Exception:  # noqa: BLE001  a private door: where it is closed, nothing is promised
        return False
