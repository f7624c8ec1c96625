"""The machine's CPUs as the sampler reads them: load, steal, frequency, and what held them back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ciwm.devices.cpu import CGROUP, PROC, cgroup_folders

THERMAL = "/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count"
NANO, MICRO = 1e9, 1e6


class Load(NamedTuple):
    """CPU seconds since boot, over all CPUs, and the frequency now (the mean of all CPUs)."""

    busy_s: float
    steal_s: float
    total_s: float


def load() -> Load:
    """What all CPUs did since boot."""
    import psutil  # noqa: PLC0415  slow to load

    times: Any = psutil.cpu_times()
    steal = getattr(times, "steal", 0.0)
    idle = times.idle + getattr(times, "iowait", 0.0)
    others = (getattr(times, name, 0.0) for name in ("nice", "irq", "softirq"))
    busy = times.user + times.system + sum(others)  # guests are part of user
    return Load(busy, steal, busy + idle + steal)


def frequency_mhz() -> float | None:
    """The mean of all CPUs; None where nothing tells it."""
    import psutil  # noqa: PLC0415

    try:
        found: Any = psutil.cpu_freq()
    except (OSError, NotImplementedError, RuntimeError):
        return None
    return None if found is None or not found.current else float(found.current)


def quota_throttled_s(proc: Path = PROC, cgroup: Path = CGROUP) -> float | None:
    """How long the CPU quota of our cgroup, or of one above, has held processes back."""
    found = [_throttled_s(folder) for folder in cgroup_folders(proc, cgroup, "cpu")]
    return max((one for one in found if one is not None), default=None)


def _throttled_s(folder: Path) -> float | None:
    try:
        lines = (folder / "cpu.stat").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    values = dict(line.split(" ", 1) for line in lines if " " in line)
    for name, unit in (("throttled_usec", MICRO), ("throttled_time", NANO)):
        if values.get(name, "").strip().isdigit():
            return int(values[name]) / unit
    return None


def thermal_throttles(pattern: str = THERMAL) -> int | None:
    """How often cores have been slowed for heat since boot; None where nothing counts it."""
    counts = []
    for path in Path("/").glob(pattern.lstrip("/")):
        try:
            counts.append(int(path.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return sum(counts) if counts else None
