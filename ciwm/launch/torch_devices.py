"""Accelerators that only torch knows (npu, xpu, hpu, privateuseone, ...), asked in a worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import DeviceError
from ciwm.launch.asking import ask
from ciwm.records.environment import Accelerator

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.config import BenchConfig
    from ciwm.records import Environment

# where Linux shows accelerators that neither NVML nor amdsmi knows: Ascend, the accel subsystem
# (Gaudi, NPUs of CPUs), Intel GPUs among all that render
NODES = ("davinci[0-9]*", "accel/accel*", "dri/renderD*")
KINDS = {"cuda": "nvidia"}


def with_torch_devices(
    host: Environment,
    config: BenchConfig,
    python: str,
    say: Callable[[str], None],
    dev: Path = Path("/dev"),
) -> Environment:
    """The host with the accelerators that torch names where no driver's own tool named any.

    Torch is asked when the configuration says so, or when the machine shows such a device; in the
    latter case a torch that cannot be asked is said. Raises DeviceError when one that was to be
    asked names none.
    """
    if host.accelerators or config.devices not in ("auto", "torch"):
        return host
    if config.devices == "auto" and not any(any(dev.glob(node)) for node in NODES):
        return host
    try:
        found = torch_accelerators(python)
    except DeviceError as error:
        if config.devices == "torch":
            raise
        say(f"accelerators are not known: {error.message}")
        return host
    if not found and config.devices == "torch":
        raise DeviceError(
            f'[bench] devices = "torch", and the torch of {python} names no accelerator',
            "install the backend of the accelerator there, or leave devices out",
        )
    return host.model_copy(update={"accelerators": found})


def torch_accelerators(python: str) -> tuple[Accelerator, ...]:
    """What the torch of an interpreter runs on; empty without torch, or where that is the CPU.

    Raises DeviceError when it dies of the question.
    """
    try:
        lines, _ = ask(python, "devices", {})
    except DeviceError as error:
        raise DeviceError(f"asking {python} for accelerators: {error.message}") from error
    return tuple(
        Accelerator(
            index=line["index"],
            vendor=KINDS.get(line["type"], line["type"]),
            name=line["name"],
            memory_bytes=line["memory_bytes"],
            driver=line["driver"],
        )
        for line in lines
        if line["kind"] == "accelerator"
    )
