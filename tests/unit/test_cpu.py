"""What of the machine this process may use, by the files the kernel shows."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

import psutil
import pytest

from ciwm.devices import cpu
from ciwm.devices.host import describe_host, shown_variables

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30


class Kernel:
    """A /proc and a /sys/fs/cgroup in a folder."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.cgroup = folder / "cgroup"
        (self.proc / "self").mkdir(parents=True)
        self.cgroup.mkdir()

    def cpuinfo(self, text: str) -> Kernel:
        (self.proc / "cpuinfo").write_text(text)
        return self

    def groups(self, text: str) -> Kernel:
        (self.proc / "self" / "cgroup").write_text(text)
        return self

    def limit(self, path: str, text: str) -> Kernel:
        file = self.cgroup / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
        return self

    def cpus(self) -> int:
        return cpu.usable_cpus(self.proc, self.cgroup)

    def memory(self) -> int:
        return cpu.usable_memory_bytes(self.proc, self.cgroup)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)))
    return Kernel(tmp_path)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor : 0\nmodel name\t: AMD EPYC 9654\n\nprocessor : 1\n", "AMD EPYC 9654"),
        (
            "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd4f\n",
            "ARM implementer 0x41 part 0xd4f",
        ),
        ("cpu : POWER10\n", "POWER10"),
        ("", platform.machine()),
    ],
)
def test_the_processor_is_named_on_every_architecture(kernel: Kernel, text: str, name: str) -> None:
    assert cpu.cpu_model(kernel.cpuinfo(text).proc) == name


def test_without_limits_the_cpus_are_those_of_the_affinity(kernel: Kernel) -> None:
    assert kernel.cpus() == 64
    assert kernel.groups("0::/\n").limit("cpu.max", "max 100000").cpus() == 64


@pytest.mark.parametrize(("quota", "cpus"), [("400000", 4), ("150000", 2), ("50000", 1)])
def test_a_quota_cuts_the_cpus_down_rounded_up(kernel: Kernel, quota: str, cpus: int) -> None:
    assert kernel.groups("0::/job\n").limit("job/cpu.max", f"{quota} 100000").cpus() == cpus


def test_the_tightest_limit_of_the_groups_above_holds(kernel: Kernel) -> None:
    kernel.groups("0::/slice/pod/job\n")
    kernel.limit("slice/cpu.max", "200000 100000").limit("slice/pod/job/cpu.max", "max 100000")
    kernel.limit("slice/memory.max", str(8 * GIB)).limit("slice/pod/memory.max", str(2 * GIB))
    assert kernel.cpus() == 2
    assert kernel.memory() == 2 * GIB


def test_limits_of_cgroup_version_1_hold(kernel: Kernel) -> None:
    kernel.groups("5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n")
    kernel.limit("cpu/docker/abc/cpu.cfs_quota_us", "300000")
    kernel.limit("cpu/docker/abc/cpu.cfs_period_us", "100000")
    kernel.limit("memory/docker/abc/memory.limit_in_bytes", str(3 * GIB))
    assert kernel.cpus() == 3
    assert kernel.memory() == 3 * GIB


def test_a_version_1_quota_of_minus_one_is_none(kernel: Kernel) -> None:
    kernel.groups("5:cpu,cpuacct:/\n")
    kernel.limit("cpu/cpu.cfs_quota_us", "-1").limit("cpu/cpu.cfs_period_us", "100000")
    assert kernel.cpus() == 64


def test_a_limit_above_the_machines_memory_is_no_limit(kernel: Kernel) -> None:
    kernel.groups("0::/\n").limit("memory.max", str(2**63))
    assert kernel.memory() == psutil.virtual_memory().total


def test_files_that_say_nothing_are_no_limit(kernel: Kernel) -> None:
    kernel.groups("garbage\n0::/job\n").limit("job/cpu.max", "").limit("job/memory.max", "what?")
    assert kernel.cpus() == 64
    assert kernel.memory() == psutil.virtual_memory().total


CONTAINER_VARIABLES = (
    "CIWM_CONTAINER_IMAGE",
    "CI_JOB_IMAGE",
    "APPTAINER_CONTAINER",
    "SINGULARITY_CONTAINER",
    "NVIDIA_BUILD_ID",
    "NVIDIA_PYTORCH_VERSION",
    "KUBERNETES_SERVICE_HOST",
)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a machine that is no container."""
    for name in CONTAINER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "run").mkdir()
    return tmp_path


def test_outside_a_container_there_is_no_image(bare: Path) -> None:
    assert cpu.container_image(bare) is None


def test_the_image_is_what_the_job_or_podman_says(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare / "run/.containerenv").write_text('engine="podman-5"\nimage="quay.io/a/b:1"\n')
    assert cpu.container_image(bare) == "quay.io/a/b:1"
    monkeypatch.setenv("CIWM_CONTAINER_IMAGE", "acme/ci@sha256:1")
    assert cpu.container_image(bare) == "acme/ci@sha256:1"


def test_a_container_whose_image_nobody_tells_is_not_taken_for_the_host(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert cpu.container_image(bare) == "kubernetes, image unknown"
    (bare / ".dockerenv").touch()
    assert cpu.container_image(bare) == "docker, image unknown"
    (bare / "run/.containerenv").touch()
    assert cpu.container_image(bare) == "podman, image unknown"
    monkeypatch.setenv("NVIDIA_BUILD_ID", "1234")
    monkeypatch.setenv("NVIDIA_PYTORCH_VERSION", "26.01")
    assert cpu.container_image(bare) == "NVIDIA image 26.01 build 1234"


def test_variables_that_change_how_work_runs_are_shown_and_secrets_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = {
        "OMP_NUM_THREADS": "4",
        "CUDA_VISIBLE_DEVICES": "0",
        "NCCL_ALGO": "Ring",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "LD_PRELOAD": "/lib/jemalloc.so",
    }
    hidden = {"VLLM_API_KEY": "secret-1", "HF_TOKEN": "secret-2", "EDITOR": "vi"}
    for name, value in {**shown, **hidden, "TORCH_LOGS": "https://u:pw@host/"}.items():
        monkeypatch.setenv(name, value)
    found = shown_variables()
    assert shown.items() <= found.items()
    assert not hidden.keys() & found.keys()
    assert found["TORCH_LOGS"] == "https://***@host/"


def test_this_host_is_described_as_the_kernel_describes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    host = describe_host()
    assert (host.architecture, host.kernel) == (platform.machine(), platform.release())
    assert 1 <= host.cpu_count <= len(os.sched_getaffinity(0))
    assert 0 < host.memory_bytes <= psutil.virtual_memory().total
    assert host.accelerators == ()
    assert host.interpreter is None
    assert host.fingerprint == describe_host().fingerprint
