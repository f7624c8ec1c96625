"""A device predicted from its manifest: the null device with stand-ins for the kernels it has."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping

from .census import run_model, run_step, tell
from .facts import known_operators, operator
from .null import Device, null_device, parsed
from .stages import Emit
from .subject import has_model

# not by a stand-in: choices and hooks of a device, and what the null device must do itself
SKIPPED = frozenset(
    "aten::" + name
    for name in (
        "_fused_sdp_choice",
        "_pin_memory",
        "_resize_output_",
        "copy_",
        "is_pinned",
        "record_stream",
        "set_",
        "set_.source_Storage",
        "set_.source_Tensor",
    )
)
_kept: Dict[str, Any] = {}  # libraries whose registrations last as long as they do
_left: List[str] = []


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Emit what the target would run by itself, and what would be left to a fallback or to write.

    `options.native` are the operators that the manifest has kernels for.
    """
    device = null_device(job)
    emit({"what": "capture", "capture": device.capture, "limits": device.limits})
    if "done" not in _kept:
        emit({"what": "known", "ops": known_operators()})
    become(device, job["options"]["native"])
    try:
        if has_model(job):
            run_model(job, device)
        else:
            run_step(job, device)
    finally:
        device.record(False)  # noqa: FBT003  an operator of torch takes no keywords here
        tell(parsed(device.take()), emit)
        emit({"what": "no_stand_in", "ops": _left})


def become(device: Device, native: List[str]) -> None:
    """Register a stand-in for each kernel of the target, once in a process."""
    if "done" in _kept:
        return
    _kept["done"] = True
    left = device.load([op for op in native if op not in SKIPPED])
    _left.extend(op for op in left if not _by_decomposition(device, op))


def _by_decomposition(device: Device, op: str) -> bool:
    """Let a kernel that the CPU has not be computed by its decomposition; whether it has one."""
    import torch
    from torch._decomp import decomposition_table

    found = operator(op)
    if found not in decomposition_table or not op.startswith("aten::"):
        return False
    compute: Callable[..., Any] = decomposition_table[found]

    def run(*args: Any, **kwargs: Any) -> Any:
        device.note_native(op)
        return compute(*args, **kwargs)

    library = _kept.setdefault("aten", torch.library.Library("aten", "IMPL"))
    library.impl(op[6:], run, "PrivateUse1")
    return True
