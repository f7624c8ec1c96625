"""Which leaf kernels a workload needs: it runs on the null device, which writes them down."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from typing import Any, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from .facts import known_of
from .null import Call, Device, Seen, null_device, parsed, watch_modules
from .stages import Emit
from .subject import GENERATING, TRAINING, Built, build, forward, has_model, parts, step, to_device

SPECS, MODULES = 6, 6  # of an operator, the most frequent
FARTHEST = sys.float_info.max  # where one of two is infinite or no number: JSON has neither


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Emit the operators, the composites and the result's distance from the CPU's."""
    device = null_device(job)
    emit({"what": "capture", "capture": device.capture, "limits": device.limits})
    try:
        if has_model(job):
            difference = run_model(job, device)
            emit({"what": "difference", "max_abs_diff": difference})
        else:
            run_step(job, device)
            emit({"what": "note", "note": BARE_STEP})
    finally:
        device.record(False)  # noqa: FBT003  an operator of torch takes no keywords here
        tell(parsed(device.take()), emit)


BARE_STEP = (
    "a bare step ran with the null device as torch's default device: tensors it made on a stated "
    "device, or before, are not seen, nor are module paths and the parts of a training step; "
    "model = 'file.py:build' tells all of it"
)


def run_model(job: Mapping[str, Any], device: Device) -> Optional[float]:
    """Run the phase on the device, recording; the largest difference from the CPU's outputs.

    Only a forward pass in evaluation is compared: a training step draws random numbers.
    """
    built = build(job)
    phase = job["phase"]
    expected = None
    if phase not in TRAINING and phase not in GENERATING:
        built.model.eval()
        with uncompiled():
            expected = forward(built)
    there = to_device(built, device.name)
    outputs = run_parts(there, phase, device)
    return None if expected is None else _distance(expected, outputs)


def run_parts(built: Built, phase: Optional[str], device: Device) -> Any:
    """Run every part of the phase on the device, recording; the last one's result."""
    undo = watch_modules(built.model, device)
    steps = parts(built, phase)
    device.take()
    device.record(True)  # noqa: FBT003
    result = None
    try:
        with uncompiled():
            for name, run in steps:
                device.set_part(name)
                device.set_module("")
                result = run()
    finally:
        device.record(False)  # noqa: FBT003
        undo()
    return result


def run_step(job: Mapping[str, Any], device: Device) -> None:
    """Run a bare step with the null device as the default device, recording."""
    import torch

    run = step(job)
    device.take()
    device.set_part("step")
    device.set_module("")
    torch.set_default_device(device.name)
    device.record(True)  # noqa: FBT003
    try:
        with uncompiled():
            run()
    finally:
        device.record(False)  # noqa: FBT003
        torch.set_default_device(None)


def uncompiled() -> Any:
    """What a workload compiles runs operator by operator: no compiler knows the null device."""
    import torch

    stance = getattr(torch.compiler, "set_stance", None)  # from torch 2.6 on
    return contextlib.nullcontext() if stance is None else stance("force_eager")


def _distance(expected: Any, found: Any) -> Optional[float]:
    import torch
    from torch.utils._pytree import tree_leaves

    largest = None
    for one, other in zip(tree_leaves(expected), tree_leaves(found)):
        if not isinstance(one, torch.Tensor) or not one.is_floating_point() or not one.numel():
            continue
        apart = _apart(one.double(), other.detach().cpu().double())
        largest = apart if largest is None else max(largest, apart)
    return largest


def _apart(one: Any, other: Any) -> float:
    """The largest difference; an infinity or NaN that the other has as well is none."""
    import torch

    same = (one == other) | (one.isnan() & other.isnan())
    if same.all():
        return 0.0
    apart = (one - other).abs()[~same]
    return float(torch.nan_to_num(apart, nan=FARTHEST, posinf=FARTHEST).max().item())


def tell(seen: Seen, emit: Emit) -> None:
    """Emit one line an operator and part, then what composites are made of."""
    groups: Dict[Tuple[str, str, str], List[Call]] = {}
    for call in seen.calls:
        groups.setdefault((call.kind, call.op, call.part), []).append(call)
    for (kind, op, part), calls in sorted(groups.items()):
        specs = _most([(call.spec, call.calls) for call in calls])
        modules = _most([(call.module, call.calls) for call in calls if call.module])
        emit(
            {
                "what": "op",
                "kind": kind,
                "op": op,
                "part": part,
                "count": sum(call.calls for call in calls),
                "specs": [[spec.split(" "), count] for spec, count in specs[:SPECS]],
                "spec_count": len(specs),
                "dtypes": sorted({dtype for spec, _ in specs for dtype in _computed_in(spec)}),
                "modules": [module for module, _ in modules[:MODULES]],
                **known_of(op),
            }
        )
    for op, leaves in sorted(seen.composites.items()):
        emit({"what": "composite", "op": op, "leaves": leaves})
    for op, why in sorted(seen.broken.items()):
        emit({"what": "broken", "op": op, "why": why})


_DTYPES = {
    "BFloat16": "bfloat16",
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "ComplexDouble": "complex128",
    "ComplexFloat": "complex64",
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "Int": "int32",
    "Long": "int64",
    "Short": "int16",
}


def _computed_in(spec: str) -> Set[str]:
    """The dtypes that a call computes in: floating ones where it has any, else what it has.

    A number beside tensors (`x * 2.0`, a Double without dimensions) does not decide.
    """
    tensors = [text for text in spec.split(" ") if "[" in text]
    ranked = _dtypes(text for text in tensors if "[]" not in text)
    return _floating(ranked) or _floating(_dtypes(tensors)) or ranked or _dtypes(tensors)


def _dtypes(tensors: Iterable[str]) -> Set[str]:
    names = {text.partition("[")[0] for text in tensors}
    return {_DTYPES.get(name, name[:1].lower() + name[1:]) for name in names}


def _floating(dtypes: Set[str]) -> Set[str]:
    return {name for name in dtypes if "float" in name or "complex" in name}


def _most(counted: List[Tuple[str, int]]) -> List[Tuple[str, int]]:
    total: Counter[str] = Counter()
    for key, count in counted:
        total[key] += count
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))
