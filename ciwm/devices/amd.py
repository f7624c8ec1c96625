"""AMD cards through `amdsmi`, which comes with ROCm and is asked where it is installed.

Written after the binding's own source (7.0.2) and tried against a stand-in, never a real card.
"""

from __future__ import annotations

import os
from typing import Any

from ciwm.devices import amdsmi
from ciwm.devices.amdsmi import asked, number
from ciwm.errors import DeviceError
from ciwm.records.environment import Accelerator

MIB = 2**20
MICRO = 1e6
VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def amd_cards() -> list[Accelerator]:
    """The AMD cards that the variables of ROCm let through; indices as in amd-smi.

    Empty without the binding or the driver; raises DeviceError when the driver is broken.
    """
    module: Any = None
    try:
        module = amdsmi.binding()
        if module is None:
            return []
        handles = module.amdsmi_get_processor_handles()
    except Exception as error:
        raise DeviceError(
            f"the AMD driver does not answer: {' '.join(str(error).split())}",
            "see: amd-smi list, dmesg | grep -i amdgpu",
        ) from error
    cards = [_card(module, index, handle) for index, handle in enumerate(handles)]
    return [cards[index] for index in visible(len(cards))]


def visible(count: int) -> list[int]:
    """Indices that are let through: by ROCR_VISIBLE_DEVICES, and of those by HIP's."""
    left = list(range(count))
    hip = VISIBLE[1] if VISIBLE[1] in os.environ else VISIBLE[2]  # HIP heeds CUDA's, too
    for name in (VISIBLE[0], hip):
        asked_for = os.environ.get(name)
        if asked_for is not None:
            left = _picked(left, asked_for)
    return left


def _picked(left: list[int], words: str) -> list[int]:
    """The first word that names nothing ends the list, as in HIP."""
    found: list[int] = []
    for word in words.split(","):
        if not word.strip().isdigit() or int(word) >= len(left):
            break
        found.append(left[int(word)])
    return found


def _card(module: Any, index: int, handle: Any) -> Accelerator:
    clocks = module.AmdSmiClkType
    power_uw = number(module, lambda: module.amdsmi_get_power_cap_info(handle)["power_cap"])
    mib = number(module, lambda: module.amdsmi_get_gpu_vram_usage(handle)["vram_total"])

    def highest(kind: Any) -> int | None:
        return number(module, lambda: module.amdsmi_get_clock_info(handle, kind)["max_clk"])

    name = asked(module, lambda: module.amdsmi_get_gpu_asic_info(handle)["market_name"])
    return Accelerator(
        index=index,
        vendor="amd",
        name=str(name or "AMD GPU"),
        uuid=asked(module, lambda: str(module.amdsmi_get_gpu_device_uuid(handle))),
        memory_bytes=None if mib is None else mib * MIB,
        driver=asked(module, lambda: module.amdsmi_get_gpu_driver_info(handle)["driver_version"]),
        max_sm_clock_mhz=highest(clocks.GFX),
        max_memory_clock_mhz=highest(clocks.MEM),
        power_limit_w=None if power_uw is None else power_uw / MICRO,
    )
