"""One workload on the device: its own calls one by one, then the whole model."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Mapping

from ..problem import Problem
from .calls import Captured, capture
from .isolate import Limits
from .one_operator import in_words
from .replay import replay
from .subject import build, has_model, parts, step
from .target import device_of, load_plugins, refuse_unusable
from .whole_model import check_model


def observe(job: Mapping[str, Any], emit: Callable[[Dict[str, Any]], None]) -> None:
    """Lines of kind `captured`, `check` and `model`; raises Problem."""
    import torch

    torch.set_num_threads(1)  # a thread pool that has worked would hang the forked children
    options = job["options"]
    load_plugins(options)
    device = device_of(options)
    refuse_unusable(device)
    captured = Captured()
    try:
        capture(_steps(job), captured)
    except Exception as error:
        raise Problem("failed", "it does not run on the CPU: " + in_words(error)) from error
    kept = sum(len(calls) for calls in captured.calls.values())
    emit({"kind": "captured", "calls": kept, "too_large": captured.too_large, "device": device})
    replay(captured, device, emit, _limits(device, options))
    if has_model(job):
        for line in check_model(job, device):
            emit(line)


def _steps(job: Mapping[str, Any]) -> List[Callable[[], Any]]:
    if has_model(job):
        return [run for _, run in parts(build(job), job["phase"])]
    return [step(job)]


def _limits(device: str, options: Mapping[str, Any]) -> Limits:
    on_cpu = device.split(":", maxsplit=1)[0] == "cpu"
    each = int(options.get("tasks_per_child") or (1_000_000 if on_cpu else 1))
    children = int(options.get("children") or (os.cpu_count() or 1 if on_cpu else 1))
    return Limits(children, each, float(options.get("operator_timeout_s") or 60.0))
