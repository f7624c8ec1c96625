"""Whether the kernel killed something of ours for memory: the cgroup's own count."""

from __future__ import annotations

import contextlib
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


def oom_kills() -> int | None:
    """How often the OOM killer has struck in our memory cgroup; None where no file says so."""
    for path in _counters():
        with contextlib.suppress(OSError, ValueError):
            for line in path.read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return None


def _counters() -> list[Path]:
    """memory.events of cgroup v2, memory.oom_control of v1; in a container both may be the root."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, below = line.split(":", 2)
            if controllers == "":
                found += [_ROOT / below.lstrip("/") / "memory.events", _ROOT / "memory.events"]
            elif "memory" in controllers.split(","):
                v1 = _ROOT / "memory"
                found += [v1 / below.lstrip("/") / "memory.oom_control", v1 / "memory.oom_control"]
    return found
