"""Strict runs: with exactly these kernels a workload passes, with one of them removed it fails."""

from __future__ import annotations

from typing import Any, List, Mapping, Tuple

from .census import run_parts
from .ghost import become
from .null import Device, null_device
from .stages import Emit
from .subject import build, to_device

DETAIL_CHARACTERS = 200


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Emit whether the workload passes with the kernels of `options.allowed`, and without each.

    `options.allowed` and `options.removed` list operators by subject.
    """
    options = job["options"]
    device = null_device(job)
    become(device, options["native"])
    allowed: List[str] = options["allowed"][job["subject"]]
    passes, detail = _strict(job, device, allowed)
    emit({"what": "exact", "passes": passes, "detail": detail})
    for op in options["removed"][job["subject"]] if passes else []:
        without, detail = _strict(job, device, [one for one in allowed if one != op])
        emit({"what": "without", "op": op, "passes": without, "detail": detail})


def _strict(job: Mapping[str, Any], device: Device, allowed: List[str]) -> Tuple[bool, str]:
    """Whether a run passes when nothing but these kernels may be used, and if not, why."""
    built = to_device(build(job), device.name)
    device.restrict_to(allowed)
    try:
        run_parts(built, job["phase"], device)
    except Exception as error:  # noqa: BLE001  whatever it is, it did not pass
        words = " ".join(str(error).split())
        return False, f"{type(error).__name__}: {words}"[:DETAIL_CHARACTERS]
    finally:
        device.unrestrict()
        device.take()
    return True, ""
