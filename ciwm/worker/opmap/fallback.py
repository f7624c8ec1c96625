"""Which operators of a workload ran on the CPU although the device was asked, and for how long."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable, Dict, List, Mapping

from ..problem import Problem
from . import cpu_libraries, event_tree
from .subject import build, has_model, parts, step, to_device
from .target import device_of, load_plugins

STEPS = 3
Emit = Callable[[Dict[str, Any]], None]


def observe(job: Mapping[str, Any], emit: Emit) -> None:
    """Lines of kind `step`, `fallback`, `hidden`, `kernel`, `library`; raises Problem."""
    options = job["options"]
    load_plugins(options)
    device = device_of(options)
    run = _step(job, device)
    run()  # the first step allocates, compiles and initialises
    rows = _profile(run, device, int(options.get("steps") or STEPS))
    trace = _trace(run, device)
    if not trace.calls and device.split(":")[0] != "cpu":
        raise Problem("invalid", f"nothing of it ran on {device}, so that nothing can fall back")
    steps = sum(row.name == event_tree.STEP for row in rows)
    step_us = event_tree.step_time_us(rows)
    emit({"kind": "step", "device": device, "steps": steps, "step_us": step_us / steps})
    _emit_fallbacks(rows, trace, steps, emit)
    if device.split(":")[0] != "cpu":
        _emit_hidden(rows, trace, steps, emit)
    for (operator, kernel), (calls, spent) in sorted(event_tree.kernels(rows).items()):
        line = {"kind": "kernel", "operator": operator, "kernel": kernel[:300]}
        emit({**line, "calls": calls / steps, "time_us": spent / steps})
    with cpu_libraries.said() as lines:
        run()
    for found in cpu_libraries.counted(lines):
        emit({"kind": "library", **found})


def _emit_fallbacks(
    rows: List[event_tree.Row], trace: event_tree.Traced, steps: int, emit: Emit
) -> None:
    """One line an operator; its overloads come from the trace of one step of its own."""
    fell = event_tree.fallbacks(rows)
    overloads: Dict[str, Dict[str, int]] = {}
    for overload, count in trace.overloads.items():
        overloads.setdefault(overload.split(".")[0], {})[overload] = count
    for name, calls in sorted(fell.calls.items()):
        emit(
            {
                "kind": "fallback",
                "operator": name,
                "overloads": overloads.get(name, {}),
                "calls": calls / steps,
                "time_us": fell.time_us[name] / steps,
            }
        )


def _emit_hidden(
    rows: List[event_tree.Row], trace: event_tree.Traced, steps: int, emit: Emit
) -> None:
    """Copies to the host below an operator: by the trace's devices, and by the device's memcpys."""
    for (overload, what), count in sorted(trace.hidden.items()):
        emit({"kind": "hidden", "operator": overload, "what": what, "calls": count})
    known = {overload.split(".")[0] for overload, _ in trace.hidden}
    for name, count in sorted(event_tree.hidden_copies(rows).items()):
        if name not in known:
            line = {"kind": "hidden", "operator": name, "what": "memcpy"}
            emit({**line, "calls": count / steps})


def _step(job: Mapping[str, Any], device: str) -> Callable[[], None]:
    """One step of the workload on the device, ended by a wait for it."""
    import torch

    if has_model(job):
        runs = [run for _, run in parts(to_device(build(job), device), job["phase"])]
    else:
        runs = [step(job)]
    wait = _nothing if device.split(":", maxsplit=1)[0] == "cpu" else torch.accelerator.synchronize

    def run() -> None:
        for each in runs:
            each()
        wait()

    return run


def _nothing() -> None:
    """The CPU is never behind."""


def _profile(run: Callable[[], None], device: str, steps: int) -> List[event_tree.Row]:
    from torch.profiler import profile, record_function

    with profile(activities=_activities(device)) as profiled:
        for _ in range(steps):
            with record_function(event_tree.STEP):
                run()
    return event_tree.rows_of(list(profiled.events()))


def _activities(device: str) -> List[Any]:
    """The CPU's events, and the device's where the profiler knows it."""
    import torch
    from torch.profiler import ProfilerActivity, supported_activities

    kind = device.split(":", maxsplit=1)[0].upper()
    own = torch._C._get_privateuse1_backend_name().upper()  # noqa: SLF001  there is no public name
    wanted = getattr(ProfilerActivity, "PrivateUse1" if kind == own else kind, None)
    extra = [wanted] if wanted in supported_activities() and kind != "CPU" else []
    return [ProfilerActivity.CPU, *extra]


def _trace(run: Callable[[], None], device: str) -> event_tree.Traced:
    """One step under the execution trace, which knows overloads and devices but slows down."""
    from torch.profiler import ExecutionTraceObserver

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        observer = ExecutionTraceObserver()
        observer.register_callback(path)
        observer.start()
        try:
            run()
        finally:
            observer.stop()
            observer.unregister_callback()
        with open(path, encoding="utf-8") as file:
            return event_tree.traced(json.load(file)["nodes"], device)
