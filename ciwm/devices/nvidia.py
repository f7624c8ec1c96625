"""NVIDIA cards through NVML, by the nvidia-ml-py binding."""

from __future__ import annotations

import os
from typing import Any

from ciwm.devices.nvidia_links import Links, links
from ciwm.devices.nvml import broken, nvml, optional, whole_card
from ciwm.records.environment import Accelerator

VISIBLE = "CUDA_VISIBLE_DEVICES"


def nvidia_cards() -> list[Accelerator]:
    """The NVIDIA cards that CUDA_VISIBLE_DEVICES lets through; indices as in nvidia-smi.

    Empty without a driver; raises DeviceError when a card or the driver is broken.
    """
    with nvml() as binding:
        if binding is None:
            return []
        try:
            return [_card(binding, handle) for handle in _visible(binding)]
        except binding.NVMLError as error:
            raise broken("an NVIDIA card cannot be read", error) from error


def nvidia_topology() -> Links:
    """How the visible cards are connected; empty without any. Raises DeviceError as above."""
    with nvml() as binding:
        if binding is None:
            return Links()
        try:
            handles = [whole_card(binding, handle) for handle in _visible(binding)]
            cards = {binding.nvmlDeviceGetIndex(handle): handle for handle in handles}
            return links(binding, list(cards.items()))
        except binding.NVMLError as error:
            raise broken("an NVIDIA card cannot be read", error) from error


def _visible(binding: Any) -> list[Any]:
    """Handles in the order of CUDA_VISIBLE_DEVICES; as CUDA does, the first bad entry ends it."""
    count = binding.nvmlDeviceGetCount()
    asked = os.environ.get(VISIBLE)
    if asked is None:
        return [binding.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    handles: list[Any] = []
    for word in asked.split(","):
        handle = _named(binding, word.strip(), count)
        if handle is None:
            break
        handles.append(handle)
    return handles


def _named(binding: Any, word: str, count: int) -> Any:
    """The handle of an index, a (shortened) GPU uuid, or a MIG uuid; None when there is none."""
    if word.isdigit():
        return binding.nvmlDeviceGetHandleByIndex(int(word)) if int(word) < count else None
    if word.startswith("MIG-"):
        return optional(binding, lambda: binding.nvmlDeviceGetHandleByUUID(word))
    if not word.startswith("GPU-"):
        return None
    handles = [binding.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    found = [h for h in handles if binding.nvmlDeviceGetUUID(h).startswith(word)]
    return found[0] if len(found) == 1 else None


def _card(binding: Any, handle: Any) -> Accelerator:
    card = whole_card(binding, handle)  # clocks, power and ECC are the whole card's

    def of_card(name: str, *arguments: Any) -> Any:
        return optional(binding, lambda: getattr(binding, name)(card, *arguments))

    memory = optional(binding, lambda: binding.nvmlDeviceGetMemoryInfo(handle))
    power_mw = of_card("nvmlDeviceGetEnforcedPowerLimit")
    ecc, mig = of_card("nvmlDeviceGetEccMode"), of_card("nvmlDeviceGetMigMode")
    return Accelerator(
        index=binding.nvmlDeviceGetIndex(card),
        vendor="nvidia",
        name=binding.nvmlDeviceGetName(card),
        uuid=optional(binding, lambda: binding.nvmlDeviceGetUUID(handle)),
        memory_bytes=None if memory is None else int(memory.total),
        driver=optional(binding, binding.nvmlSystemGetDriverVersion),
        max_sm_clock_mhz=of_card("nvmlDeviceGetMaxClockInfo", binding.NVML_CLOCK_SM),
        max_memory_clock_mhz=of_card("nvmlDeviceGetMaxClockInfo", binding.NVML_CLOCK_MEM),
        power_limit_w=None if power_mw is None else power_mw / 1000,
        ecc=None if ecc is None else bool(ecc[0]),
        mig=None if mig is None else bool(mig[0]),
    )
