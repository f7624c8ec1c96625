"""How an iteration is timed: wall clock on the CPU, events on CUDA, a barrier on other devices."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, List, Tuple

from .problem import Problem

Step = Callable[[], Any]


class WallClock:
    """Monotonic wall time of the call."""

    name = "wall"

    def time(self, step: Step) -> Tuple[Any, float]:
        """The step's result and its seconds."""
        start = time.perf_counter_ns()
        result = step()
        return result, (time.perf_counter_ns() - start) / 1e9

    def check(self) -> None:
        """Nothing can be left running."""


class BarrierClock:
    """Monotonic wall time up to the moment the devices are idle again."""

    def __init__(self, name: str, synchronise: Callable[[], Any]) -> None:
        self.name = name
        self._synchronise = synchronise

    def time(self, step: Step) -> Tuple[Any, float]:
        """The step's result and its seconds."""
        start = time.perf_counter_ns()
        result = step()
        self._synchronise()
        return result, (time.perf_counter_ns() - start) / 1e9

    def check(self) -> None:
        """Nothing can be left running."""


class CudaEventClock:
    """Device time between two events on the current stream; one synchronisation an iteration."""

    name = "cuda-event"
    SLACK_S = 1e-3

    def __init__(self, torch: Any) -> None:
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self._synchronise = torch.cuda.synchronize
        self._wall: List[float] = []
        self._device: List[float] = []

    def time(self, step: Step) -> Tuple[Any, float]:
        """The step's result and its seconds."""
        wall = time.perf_counter_ns()
        self._start.record()
        result = step()
        self._end.record()
        self._synchronise()
        self._wall.append((time.perf_counter_ns() - wall) / 1e9)
        self._device.append(self._start.elapsed_time(self._end) / 1e3)
        return result, self._device[-1]

    def check(self) -> None:
        """Raise Problem when the device worked on well after the step's last event."""
        if not self._wall:
            return
        wall, device = _middle(self._wall), _middle(self._device)
        if wall > 1.5 * device + self.SLACK_S:
            raise Problem(
                "invalid",
                f"the step leaves work on another stream: {wall * 1e3:.2f} ms until the device "
                f"is idle, {device * 1e3:.2f} ms on the current stream; join it with "
                "torch.cuda.current_stream().wait_stream(...)",
            )


def _middle(values: List[float]) -> float:
    """The upper median; `statistics` would load much that a workload may not expect."""
    return sorted(values)[len(values) // 2]


def clock_name() -> str:
    """The clock that fits what the workload uses by now: its name only, cheap to ask."""
    torch = sys.modules.get("torch")
    if torch is None:
        return WallClock.name
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        return CudaEventClock.name if len(_cuda_devices(torch)) <= 1 else "wall+cuda"
    kind = _accelerator(torch)
    return WallClock.name if kind in ("", "cuda") else "wall+" + kind


def make_clock(name: str) -> Any:
    """The clock of that name."""
    torch = sys.modules.get("torch")
    if torch is None or name == WallClock.name:
        return WallClock()
    if name == CudaEventClock.name:
        return CudaEventClock(torch)
    if name == "wall+cuda":
        return BarrierClock(name, lambda: [torch.cuda.synchronize(d) for d in _cuda_devices(torch)])
    return BarrierClock(name, torch.accelerator.synchronize)


def _cuda_devices(torch: Any) -> List[int]:
    return [i for i in range(torch.cuda.device_count()) if torch.cuda.memory_reserved(i) > 0]


def _accelerator(torch: Any) -> str:
    """The device type in use beside CUDA (xpu, npu, mps, ...), or nothing."""
    accelerator = getattr(torch, "accelerator", None)  # torch >= 2.6
    if accelerator is None or not accelerator.is_available():
        return ""
    kind = str(accelerator.current_accelerator().type)
    in_use = getattr(getattr(torch, kind, None), "is_initialized", None)
    return kind if in_use is None or in_use() else ""
