"""What a device can do at best: matrix products, copies, launches. A ceiling, and a check-up."""

from __future__ import annotations

import importlib
import math
import time
from typing import Any, Callable, List, Tuple

from .clock import clock_name, make_clock
from .journal import Journal

DTYPES = ("float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "int8")
ENOUGH, FEWEST = 10, 3  # timings of each
SHORT_CALLS = 200  # launches timed together
LONG_S = 0.02  # a product this long keeps a device busy
GROWN = 3  # times as long as half the size took, with eight times the work
SMALLEST = 64  # a dtype that a device only emulates takes a second for 128
LARGEST_PRODUCT = {"cpu": 2048}
LARGEST = 16384
COPY_BYTES = {"cpu": 256 << 20}
LARGEST_COPY = 1 << 30
LIMIT_S = 1.5  # for the timings of one figure, but for the fewest


def run(journal: Journal) -> None:
    """Probe the device that is visible, and write each figure down as it is known."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        journal.write("probe", what="copy", dtype="", unit="B/s", values=_bytes_copied())
        journal.write("unprobed", what="matmul, launch", why="there is no torch here")
        return
    kind = _kind(torch)
    journal.write("device", type=kind, name=_name(torch, kind))
    for what, dtype, measure in _probes(torch, kind):
        try:
            unit, values = measure()
        except (RuntimeError, NotImplementedError, TypeError, AttributeError) as error:
            words = " ".join(str(error).split())[:200]
            journal.write("unprobed", what=f"{what} {dtype}".strip(), why=words)
        else:
            journal.write("probe", what=what, dtype=dtype, unit=unit, values=values)


def _kind(torch: Any) -> str:
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None and accelerator.is_available():
        return str(accelerator.current_accelerator().type)
    return "cuda" if torch.cuda.is_available() else "cpu"


def _name(torch: Any, kind: str) -> str:
    named = getattr(getattr(torch, kind, None), "get_device_name", None)
    return str(named()) if named is not None else kind


def _probes(torch: Any, kind: str) -> List[Tuple[str, str, Callable[[], Tuple[str, List[float]]]]]:
    found: List[Any] = [
        ("matmul", name, lambda name=name: _product(torch, kind, name))
        for name in DTYPES
        if hasattr(torch, name)
    ]
    found.append(("copy", "", lambda: _copied(torch, kind, kind)))
    if kind != "cpu":
        found.append(("copy to device", "", lambda: _copied(torch, "cpu", kind)))
        found.append(("copy from device", "", lambda: _copied(torch, kind, "cpu")))
    found.append(("launch", "", lambda: _launched(torch, kind)))
    return found


def _product(torch: Any, kind: str, name: str) -> Tuple[str, List[float]]:
    """Rates of a product of two square matrices, 2 n^3 operations, of the largest size tried.

    It grows until a product is long, for the work there is and not for what any call takes.
    """
    largest, size, smaller_s = LARGEST_PRODUCT.get(kind, LARGEST), SMALLEST, math.inf
    while True:
        multiply = _multiplication(torch, kind, name, size)
        took_s = min(_timed(multiply, few=True))
        if (took_s >= LONG_S and took_s > GROWN * smaller_s) or size >= largest:
            break
        size, smaller_s = size * 2, took_s
    return "op/s", [2.0 * size**3 / one for one in _timed(multiply)]


def _multiplication(torch: Any, kind: str, name: str, size: int) -> Callable[[], Any]:
    dtype = getattr(torch, name)
    if name == "int8":
        left = torch.randint(-8, 8, (size, size), dtype=dtype, device=kind)
        return lambda: torch._int_mm(left, left)  # noqa: SLF001  torch has no public one
    left = torch.randn(size, size, device=kind).to(dtype)
    if name.startswith("float8"):
        one = torch.ones((), device=kind)
        right = left.t()
        return lambda: torch._scaled_mm(  # noqa: SLF001  nor here
            left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )
    return lambda: torch.mm(left, left)


def _copied(torch: Any, source: str, target: str) -> Tuple[str, List[float]]:
    """Rates of a copy; within a device each byte is read and written, and so counts twice."""
    device = source if source != "cpu" else target
    count = COPY_BYTES.get(device, LARGEST_COPY)

    def buffer(place: str) -> Any:
        pinned = place == "cpu" and device == "cuda"
        return torch.ones(count, dtype=torch.int8, device=place, pin_memory=pinned)

    origin, copy = buffer(source), buffer(target)
    moved = 2.0 * count if source == target else float(count)
    return "B/s", [moved / one for one in _timed(lambda: copy.copy_(origin, non_blocking=True))]


def _launched(torch: Any, kind: str) -> Tuple[str, List[float]]:
    """Seconds that one of many small operations takes, begun one after the other."""
    one = torch.zeros(1, device=kind)

    def launches() -> None:
        for _ in range(SHORT_CALLS):
            one.add_(1)

    return "s", [seconds / SHORT_CALLS for seconds in _timed(launches)]


def _timed(call: Callable[[], Any], *, few: bool = False) -> List[float]:
    """Seconds of some calls after two that warm up; fewer of calls that take very long."""
    wanted, began = (FEWEST if few else ENOUGH), time.monotonic()
    call(), call()
    clock = make_clock(clock_name())
    taken: List[float] = []
    while len(taken) < wanted and (len(taken) < FEWEST or time.monotonic() - began < LIMIT_S):
        taken.append(clock.time(call)[1])
    return taken


def _bytes_copied() -> List[float]:
    """The rate of a copy in memory without torch: by the C library, on one core."""
    source = bytes(COPY_BYTES["cpu"])
    target = bytearray(len(source))

    def copy() -> None:
        target[:] = source

    return [2.0 * len(source) / one for one in _timed(copy)]
