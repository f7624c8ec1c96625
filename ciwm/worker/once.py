"""What a series has one value of in a launch: its cold first step, compilation, peak memory."""

from __future__ import annotations

import resource
import sys
from typing import Any, Dict, Optional

from .clock import device_kind, used_devices
from .problem import Problem

FIRST_STEP, COMPILE = "first_step_time", "compile_time"
DEVICE_MEMORY, RSS = "peak_device_memory", "peak_rss"


class Once:
    """Measures those that are declared, from before the series' setup to the end of its timing."""

    def __init__(self, scales: Dict[str, float]) -> None:
        """`scales` turn seconds and bytes into the declared units, by metric."""
        self._scales = scales
        self._compiled_s = compiled_s()
        if DEVICE_MEMORY in scales:
            _reset_peaks()

    def values(self, first_s: float) -> Dict[str, float]:
        """The values in the declared units; raises Problem for one that there is not."""
        return {name: self._value(name, first_s) * scale for name, scale in self._scales.items()}

    def _value(self, name: str, first_s: float) -> float:
        if name == FIRST_STEP:
            if first_s <= 0:
                raise Problem("invalid", f"{name}: no first step without warmup_iterations")
            return first_s
        if name == COMPILE:
            return self._compilation()
        if name == RSS:
            return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * 1024
        return _device_peak()

    def _compilation(self) -> float:
        now = compiled_s()
        if now is None:
            raise Problem("invalid", f"{COMPILE}: this torch does not say how long it compiled")
        seconds = now - (self._compiled_s or 0.0)
        if seconds <= 0:
            raise Problem("invalid", f"{COMPILE}: nothing was compiled by torch.compile")
        return seconds


def compiled_s() -> Optional[float]:
    """Seconds torch.compile has worked in this process; None where torch does not say."""
    if "torch" not in sys.modules:
        return None
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is None:
        return 0.0  # torch is there, and nothing was compiled yet
    try:
        return float(dynamo.calculate_time_spent()["total_wall_time"])
    except (AttributeError, KeyError, TypeError):
        return None


def _reset_peaks() -> None:
    kind = device_kind()
    module: Any = getattr(sys.modules.get("torch"), kind, None) if kind else None
    reset = getattr(module, "reset_peak_memory_stats", None)
    if reset is not None:
        for device in used_devices(module):
            reset(device)


def _device_peak() -> float:
    """Bytes that torch's allocator held at most, over the devices in use."""
    kind = device_kind()
    module: Any = getattr(sys.modules.get("torch"), kind, None) if kind else None
    peak = getattr(module, "max_memory_allocated", None)
    if peak is None:
        where = f"torch.{kind}" if kind else "torch, which uses no accelerator here,"
        raise Problem("invalid", f"{DEVICE_MEMORY}: {where} does not tell it")
    return float(sum(peak(device) for device in used_devices(module)))
