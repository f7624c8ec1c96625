"""Whether the kernel killed something of ours for memory: the cgroup's own count."""

from __future__ import annotations

import contextlib
from pathlib import Path

PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


def oom_kills(proc: Path = PROC, cgroup: Path = CGROUP) -> int | None:
    """How often the OOM killer has struck in our memory cgroup; None where no file says so."""
    for path in _counters(proc, cgroup):
        with contextlib.suppress(OSError, ValueError):
            for line in path.read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return None


def _counters(proc: Path, cgroup: Path) -> list[Path]:
    """memory.events of cgroup v2, memory.oom_control of v1; in a container both may be the root."""
    found = []
    with contextlib.suppress(OSError):
        for line in (proc / "self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, below = line.split(":", 2)
            if controllers == "":
                found += [cgroup / below.lstrip("/") / "memory.events", cgroup / "memory.events"]
            elif "memory" in controllers.split(","):
                v1 = cgroup / "memory"
                found += [v1 / below.lstrip("/") / "memory.oom_control", v1 / "memory.oom_control"]
    return found
