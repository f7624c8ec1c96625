"""How an iteration is timed: wall clock on the CPU, events on accelerators, a barrier on others."""

from __future__ import annotations

import sys
from time import perf_counter_ns  # by name: a workload may patch the module
from typing import Any, Callable, Dict, List, Tuple

from .problem import Problem

Step = Callable[[], Any]
_TIMED: Dict[str, bool] = {}  # by module, whether it has events that tell time


class WallClock:
    """Monotonic wall time of the call."""

    name = "wall"

    def time(self, step: Step) -> Tuple[Any, float]:
        """The step's result and its seconds."""
        start = perf_counter_ns()
        result = step()
        return result, (perf_counter_ns() - start) / 1e9

    def check(self) -> None:
        """Nothing can be left running."""


class BarrierClock:
    """Monotonic wall time up to the moment the devices are idle again."""

    def __init__(self, name: str, synchronise: Callable[[], Any]) -> None:
        self.name = name
        self._synchronise = synchronise

    def time(self, step: Step) -> Tuple[Any, float]:
        """The step's result and its seconds."""
        start = perf_counter_ns()
        result = step()
        self._synchronise()
        return result, (perf_counter_ns() - start) / 1e9

    def check(self) -> None:
        """Nothing can be left running."""


class EventClock:
    """Device time between two events on the current stream; one synchronisation an iteration."""

    SLACK_S = 1e-3

    def __init__(self, name: str, module: Any) -> None:
        self.name = name
        self._start = module.Event(enable_timing=True)
        self._end = module.Event(enable_timing=True)
        self._synchronise = module.synchronize
        self._wall: List[float] = []
        self._device: List[float] = []

    def time(self, step: Step) -> Tuple[Any, float]:
        """The step's result and its seconds."""
        wall = perf_counter_ns()
        self._start.record()
        result = step()
        self._end.record()
        self._synchronise()
        self._wall.append((perf_counter_ns() - wall) / 1e9)
        self._device.append(self._start.elapsed_time(self._end) / 1e3)
        return result, self._device[-1]

    def check(self) -> None:
        """Raise Problem when the device worked on well after the step's last event."""
        if not self._wall:
            return
        wall, device = middle(self._wall), middle(self._device)
        if wall > 1.5 * device + self.SLACK_S:
            raise Problem(
                "invalid",
                f"the step leaves work on another stream: {wall * 1e3:.2f} ms until the device "
                f"is idle, {device * 1e3:.2f} ms on the current stream; join it with "
                f"torch.{self.name.partition('-')[0]}.current_stream().wait_stream(...)",
            )


def middle(values: List[float]) -> float:
    """The upper median; `statistics` would load much that a workload may not expect."""
    return sorted(values)[len(values) // 2]


def clock_name() -> str:
    """The clock that fits what the workload uses by now: its name only, cheap to ask."""
    torch = sys.modules.get("torch")
    kind = device_kind()
    if torch is None or not kind:
        return WallClock.name
    module = getattr(torch, kind, None)
    several = len(used_devices(module)) > 1
    return f"wall+{kind}" if several or not _has_events(module) else f"{kind}-event"


def make_clock(name: str) -> Any:
    """The clock of that name."""
    torch = sys.modules.get("torch")
    if torch is None or name == WallClock.name:
        return WallClock()
    if name.endswith("-event"):
        return EventClock(name, getattr(torch, name[: -len("-event")]))
    return BarrierClock(name, barrier(name[len("wall+") :]))


def device_kind() -> str:
    """The type of accelerator in use (cuda, xpu, npu, mps, ...); empty where none is."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is not None and cuda.is_initialized():
        return "cuda"
    accelerator = getattr(torch, "accelerator", None)  # torch >= 2.6
    if accelerator is None or not accelerator.is_available():
        return ""
    kind = str(accelerator.current_accelerator().type)
    in_use = getattr(getattr(torch, kind, None), "is_initialized", None)
    if kind == "cuda":
        return ""  # there, and not used
    return kind if in_use is None or in_use() else ""


def used_devices(module: Any) -> List[int]:
    """The devices of a type that this process holds memory of; empty where that is not told."""
    if not hasattr(module, "memory_reserved"):
        count = module.device_count() if hasattr(module, "device_count") else 1
        return list(range(count))
    return [i for i in range(module.device_count()) if module.memory_reserved(i) > 0]


def barrier(kind: str) -> Callable[[], Any]:
    """What waits until the devices of a type that are in use are idle."""
    torch: Any = sys.modules["torch"]
    module: Any = getattr(torch, kind, None)
    synchronise: Any = getattr(module, "synchronize", None)
    if synchronise is None:
        synchronise = torch.accelerator.synchronize
    devices = used_devices(module)
    if len(devices) < 2 or not hasattr(module, "memory_reserved"):  # noqa: PLR2004  several
        alone: Callable[[], Any] = synchronise
        return alone
    return lambda: [synchronise(device) for device in devices]


def _has_events(module: Any) -> bool:
    """Whether a type of device times by events of its own; tried once."""
    name = str(getattr(module, "__name__", id(module)))
    if name not in _TIMED:
        try:
            _TIMED[name] = hasattr(module.Event(enable_timing=True), "elapsed_time")
        except (AttributeError, TypeError, RuntimeError, NotImplementedError):
            _TIMED[name] = False
    return _TIMED[name] and hasattr(module, "synchronize")
