"""Emptying the caches between two iterations, so that each begins cold."""

from __future__ import annotations

import glob
import sys
from typing import Any, Callable, Optional

from .clock import device_kind

FALLBACK_BYTES = 64 << 20  # where nobody tells the size of the last cache
SYSTEM = "/sys/devices/system/cpu/cpu0/cache/index*/size"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def flusher() -> Callable[[], Any]:
    """What overwrites the last-level cache of the device in use, or of the CPU."""
    torch: Any = sys.modules.get("torch")
    kind = device_kind()
    if torch is None or not kind:
        return _cpu_flusher(2 * (last_cache_bytes() or FALLBACK_BYTES))
    size = 2 * (_device_cache_bytes(getattr(torch, kind, None)) or FALLBACK_BYTES)
    buffer = torch.empty(size, dtype=torch.int8, device=kind)
    return buffer.zero_  # type: ignore[no-any-return]  # torch is not typed here


def last_cache_bytes(pattern: str = SYSTEM) -> Optional[int]:
    """The size of the CPU's largest cache; None where the system does not say."""
    sizes = []
    for path in glob.glob(pattern):
        try:
            with open(path, encoding="ascii") as file:
                text = file.read().strip()
            sizes.append(int(text.rstrip("KMG")) * UNITS.get(text[-1:], 1))
        except (OSError, ValueError):
            continue
    return max(sizes) if sizes else None


def _cpu_flusher(size: int) -> Callable[[], Any]:
    target, source = bytearray(size), bytes(size)

    def flush() -> None:
        target[:] = source

    return flush


def _device_cache_bytes(module: Any) -> Optional[int]:
    properties = getattr(module, "get_device_properties", None)
    if properties is None:
        return None
    return getattr(properties(module.current_device()), "L2_cache_size", None)
