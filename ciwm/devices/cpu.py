"""The CPU, the memory and the operating system, as much of them as this process may use."""

from __future__ import annotations

import math
import os
import platform
from pathlib import Path

PROC, CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


def cpu_model(proc: Path = PROC) -> str:
    """The processor's name; on ARM its implementer and part, which is all the kernel tells."""
    fields: dict[str, str] = {}
    for line in _text(proc / "cpuinfo").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    for name in ("model name", "cpu model", "cpu", "Model"):
        if fields.get(name):
            return fields[name]
    if "CPU part" in fields:
        return f"ARM implementer {fields.get('CPU implementer')} part {fields['CPU part']}"
    return platform.machine() or "unknown"


def usable_cpus(proc: Path = PROC, cgroup: Path = CGROUP) -> int:
    """CPUs this process may use: its affinity, cut down to the cgroup's quota (rounded up)."""
    quotas = [_quota(folder) for folder in cgroup_folders(proc, cgroup, "cpu")]
    counts = [math.ceil(quota) for quota in quotas if quota is not None]
    return max(1, min([len(os.sched_getaffinity(0)), *counts]))


def usable_memory_bytes(proc: Path = PROC, cgroup: Path = CGROUP) -> int:
    """Memory this process may use: the machine's, cut down to the cgroup's limit."""
    import psutil  # noqa: PLC0415  slow to load

    limits = [int(psutil.virtual_memory().total)]
    for folder in cgroup_folders(proc, cgroup, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _text(folder / name).strip()
            if text.isdigit():
                limits.append(int(text))
    return min(limits)


def os_name() -> str:
    """The distribution's name and version."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return platform.system()
    return release.get("PRETTY_NAME") or release.get("NAME", "Linux")


def container_image(root: Path = Path("/")) -> str | None:
    """The image this process runs in, as far as it can be known; None outside a container."""
    for name in (
        "CIWM_CONTAINER_IMAGE",  # stated by the workflow
        "CI_JOB_IMAGE",
        "APPTAINER_CONTAINER",
        "SINGULARITY_CONTAINER",
    ):
        if os.environ.get(name):
            return os.environ[name]
    for line in _text(root / "run/.containerenv").splitlines():
        key, _, value = line.partition("=")
        if key == "image" and value.strip('"'):
            return value.strip('"')
    if os.environ.get("NVIDIA_BUILD_ID"):
        version = os.environ.get("NVIDIA_PYTORCH_VERSION", "")
        return f"NVIDIA image {version} build {os.environ['NVIDIA_BUILD_ID']}".replace("  ", " ")
    for mark, engine in (("run/.containerenv", "podman"), (".dockerenv", "docker")):
        if (root / mark).exists():
            return f"{engine}, image unknown"
    return "kubernetes, image unknown" if "KUBERNETES_SERVICE_HOST" in os.environ else None


def cgroup_folders(proc: Path, cgroup: Path, controller: str) -> list[Path]:
    """The process's cgroup and those above it, whose limits hold too; of version 2 and 1."""
    found = []
    for line in _text(proc / "self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if number == "0" and not names:
            mount = cgroup
        elif controller in names.split(","):
            mount = cgroup / controller
        else:
            continue
        inside = mount / path.lstrip("/")
        found += [p for p in (inside, *inside.parents) if p == mount or mount in p.parents]
    return found


def _quota(folder: Path) -> float | None:
    """CPUs' worth of time a cgroup may use; None without a limit."""
    quota, _, period = _text(folder / "cpu.max").strip().partition(" ")
    if not quota:
        quota = _text(folder / "cpu.cfs_quota_us").strip()
        period = _text(folder / "cpu.cfs_period_us").strip()
    if quota.isdigit() and period.isdigit() and int(quota) > 0 and int(period) > 0:
        return int(quota) / int(period)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
