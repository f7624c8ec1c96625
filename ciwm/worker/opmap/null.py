"""The null device as observers use it: what was seen, by operator, part and module.

It is the library that `building.py` makes of `null_device.cpp`; without a compiler `null_python.py`
stands in, which sees less and says so.
"""

from __future__ import annotations

import types
from typing import Any, Callable, Dict, List, Mapping, NamedTuple

from ..problem import Problem
from .building import NOT_BUILT, library_in

NAME = "ciwmnull"
LIMITS = (
    (
        "what torch chooses by the type of a device (scaled_dot_product_attention) is seen as "
        "taken by a device without kernels of its own"
    ),
    "seen at the declared shapes: a tiny configuration may not take the paths of a large one",
)


class Call(NamedTuple):
    """Calls of one operator alike in part, module and tensors.

    `kind` is S (structural), L (leaf), N (native to the ghost), H (throws without a kernel).
    """

    kind: str
    op: str
    part: str
    module: str
    spec: str
    calls: int


class Seen(NamedTuple):
    """What the device saw: calls, what operators are made of, what the CPU refused and why."""

    calls: List[Call]
    composites: Dict[str, List[str]]
    broken: Dict[str, str]


class Device(NamedTuple):
    """A device that records; `limits` are what its records cannot tell."""

    name: str
    record: Callable[[bool], Any]
    load: Callable[[List[str]], List[str]]
    note_native: Callable[[str], Any]
    restrict_to: Callable[[List[str]], Any]
    unrestrict: Callable[[], Any]
    set_part: Callable[[str], Any]
    set_module: Callable[[str], Any]
    take: Callable[[], List[str]]
    capture: str
    limits: List[str]


_loaded: Dict[str, Device] = {}  # a process has one PrivateUse1, whichever subject asks


def null_device(job: Mapping[str, Any]) -> Device:
    """The device of this process; the one in Python where `options.python` asks for it.

    Raises Problem where its library is not in the cache.
    """
    if "" not in _loaded:
        library = library_in(job["cache"])
        if library is not None:
            _loaded[""] = _from_library(library)
        elif job["options"].get("python"):
            _loaded[""] = _in_python()
        else:
            raise Problem("invalid", NOT_BUILT)
    return _loaded[""]


def _in_python() -> Device:
    from . import null_python

    made = null_python.PythonDevice(NAME)
    return _device(made, "null device (Python)", [*LIMITS, null_python.LIMITS])


def _from_library(library: str) -> Device:
    import torch

    torch.ops.load_library(library)
    _name_device()
    return _device(torch.ops.ciwm_null, "null device (library)", list(LIMITS))


def _device(calls: Any, capture: str, limits: List[str]) -> Device:
    """The device whose calls are attributes of an object, or of a library of operators."""
    return Device(
        name=NAME,
        record=calls.record,
        load=calls.load,
        note_native=calls.note_native,
        restrict_to=calls.restrict_to,
        unrestrict=calls.unrestrict,
        set_part=calls.set_part,
        set_module=calls.set_module,
        take=calls.take,
        capture=capture,
        limits=limits,
    )


def _name_device() -> None:
    """Give PrivateUse1 its name, its module and its tensor methods."""
    import torch

    torch.utils.rename_privateuse1_backend(NAME)
    module: Any = types.ModuleType("torch." + NAME)
    module.is_available = lambda: True
    module.is_initialized = lambda: True
    module.device_count = lambda: 1
    module.current_device = lambda: 0
    module._is_in_bad_fork = lambda: False  # noqa: SLF001  torch's name
    module.manual_seed_all = lambda _seed: None
    module.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]
    torch._register_device_module(NAME, module)  # noqa: SLF001  its public door
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)


def parsed(lines: List[str]) -> Seen:
    """What the device's lines say."""
    calls, composites, broken = [], {}, {}
    for line in lines:
        kind, op, *rest = line.split("\t")
        if kind == "C":
            composites[op] = rest
        elif kind == "B":
            broken[op] = rest[0]
        else:
            part, module, spec, count = rest
            calls.append(Call(kind, op, part, module, spec, int(count)))
    return Seen(calls, composites, broken)


def watch_modules(model: Any, device: Device) -> Callable[[], None]:
    """Tell the device which module runs, by its path; the answer undoes it."""
    names = {id(module): name for name, module in model.named_modules()}
    stack: List[str] = [""]

    def enter(module: Any, _args: Any) -> None:
        stack.append(names[id(module)])
        device.set_module(stack[-1])

    def leave(_module: Any, _args: Any, _result: Any) -> None:
        if len(stack) > 1:
            stack.pop()
        device.set_module(stack[-1])

    handles = []
    for module in model.modules():
        handles.append(module.register_forward_pre_hook(enter))
        handles.append(module.register_forward_hook(leave, always_call=True))

    def undo() -> None:
        for handle in handles:
            handle.remove()
        device.set_module("")

    return undo
