"""What a measurement is taken on: machine, cards, and the variables that change how they run."""

from __future__ import annotations

import os
import platform
import re

from ciwm.credentials import is_secret, masker
from ciwm.devices import cpu
from ciwm.devices.amd import amd_cards
from ciwm.devices.nvidia import nvidia_cards, nvidia_topology
from ciwm.records.environment import Accelerator, Environment

LONGEST_VALUE = 500
SHOWN = re.compile(
    r"(OMP|KMP|GOMP|MKL|OPENBLAS|BLIS|NUMEXPR|DNNL|ONEDNN)_\w+"
    r"|(PYTORCH|TORCH|TORCHINDUCTOR|TORCHDYNAMO|AOTI|TRITON|XLA|JAX|VLLM|SGLANG|SGL)_\w+"
    r"|(CUDA|CUBLAS|CUDNN|CUTLASS|NVIDIA|NVTE|HIP|ROCR|HSA|MIOPEN|AMD|ASCEND|ZE|SYCL|ONEAPI)_\w+"
    r"|(NCCL|RCCL|HCCL|ONECCL|CCL|GLOO|UCX|UCC|FI|NVSHMEM)_\w+"
    r"|GPU_DEVICE_ORDINAL|LD_PRELOAD|MALLOC_\w+|GLIBC_TUNABLES|PYTHONHASHSEED|PYTHONOPTIMIZE"
)


def describe_host(lock_clocks: int | None = None) -> Environment:
    """The machine as this process may use it; interpreter and torch are the worker's to say.

    `lock_clocks` is the SM clock (MHz) that its NVIDIA cards will be held at. Raises DeviceError
    when a driver or a card is broken.
    """
    links = nvidia_topology()
    return Environment(
        accelerators=tuple(held_at(lock_clocks, card) for card in visible_cards()),
        topology=links.lines,
        nvlink_mb_s=links.nvlink_mb_s,
        cpu_model=cpu.cpu_model(),
        cpu_count=cpu.usable_cpus(),
        memory_bytes=cpu.usable_memory_bytes(),
        architecture=platform.machine(),
        os=cpu.os_name(),
        kernel=platform.release(),
        container_image=cpu.container_image(),
        variables=shown_variables(),
    )


def held_at(mhz: int | None, card: Accelerator) -> Accelerator:
    """The card with the clock it will be held at, where it can be."""
    if mhz is None or card.vendor != "nvidia":
        return card
    return card.model_copy(update={"locked_sm_clock_mhz": mhz})


def visible_cards() -> list[Accelerator]:
    """The cards this process may use; empty without a driver, DeviceError when one is broken.

    A host's accelerators are those of one vendor: NVIDIA's where it has any, else AMD's.
    """
    return nvidia_cards() or amd_cards()


def shown_variables() -> dict[str, str]:
    """The variables that change how work runs, none named like a secret, passwords masked."""
    mask = masker()
    return {
        name: mask(value)[:LONGEST_VALUE]
        for name, value in sorted(os.environ.items())
        if SHOWN.fullmatch(name) and not is_secret(name)
    }
