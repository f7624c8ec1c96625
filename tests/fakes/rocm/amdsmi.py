"""A stand-in for AMD's binding, for tests: what ciwm asks of it, shaped as amdsmi 7.0.2 answers.

The state is a JSON file named in FAKE_AMDSMI_STATE, read anew at each call: a list of cards with
`name`, `uuid`, `total_mib`, `used_mib`, `sclk`, `sclk_max`, `mclk`, `mclk_max`, `cap_uw`, `watts`,
`hotspot`, `busy`, `pids`, `violations`, `ecc` (corrected, uncorrected). What is missing is not
supported; `null` for the list is a driver that is not loaded.
"""

from __future__ import annotations

import enum
import json
import os
from pathlib import Path
from typing import Any

NOT_SUPPORTED, DRIVER_NOT_LOADED = 2, 34


class AmdSmiException(Exception):  # noqa: N818  its name there
    pass


class AmdSmiLibraryException(AmdSmiException):
    def __init__(self, code: int) -> None:
        names = {
            NOT_SUPPORTED: "AMDSMI_STATUS_NOT_SUPPORTED",
            DRIVER_NOT_LOADED: "DRIVER_NOT_LOADED",
        }
        super().__init__(f"Error code:\n\t{code} | {names.get(code, 'AMDSMI_STATUS_IO')}")


class AmdSmiClkType(enum.IntEnum):
    GFX = 1
    MEM = 5


class AmdSmiTemperatureType(enum.IntEnum):
    HOTSPOT = 1


class AmdSmiTemperatureMetric(enum.IntEnum):
    CURRENT = 0


def _cards() -> Any:
    return json.loads(Path(os.environ["FAKE_AMDSMI_STATE"]).read_text())


def _of(card: int, name: str) -> Any:
    found = _cards()[card]
    if name not in found:
        raise AmdSmiLibraryException(NOT_SUPPORTED)
    return found[name]


def amdsmi_init() -> None:
    if _cards() is None:
        raise AmdSmiLibraryException(DRIVER_NOT_LOADED)


def amdsmi_get_processor_handles() -> list[int]:
    return list(range(len(_cards())))


def amdsmi_get_gpu_asic_info(card: int) -> dict[str, Any]:
    return {"market_name": _of(card, "name"), "vendor_id": "0x1002"}


def amdsmi_get_gpu_device_uuid(card: int) -> Any:
    return _of(card, "uuid")


def amdsmi_get_gpu_driver_info(_card: int) -> dict[str, Any]:
    return {"driver_name": "amdgpu", "driver_version": "6.12.12", "driver_date": "N/A"}


def amdsmi_get_gpu_vram_usage(card: int) -> dict[str, Any]:
    return {"vram_total": _of(card, "total_mib"), "vram_used": _of(card, "used_mib")}


def amdsmi_get_clock_info(card: int, kind: AmdSmiClkType) -> dict[str, Any]:
    name = "sclk" if kind == AmdSmiClkType.GFX else "mclk"
    return {"clk": _of(card, name), "min_clk": 132, "max_clk": _of(card, f"{name}_max")}


def amdsmi_get_power_cap_info(card: int) -> dict[str, Any]:
    return {"power_cap": _of(card, "cap_uw")}


def amdsmi_get_power_info(card: int) -> dict[str, Any]:
    return {"current_socket_power": _of(card, "watts"), "average_socket_power": "N/A"}


def amdsmi_get_temp_metric(card: int, _kind: Any, _metric: Any) -> Any:
    return _of(card, "hotspot")


def amdsmi_get_gpu_activity(card: int) -> dict[str, Any]:
    return {"gfx_activity": _of(card, "busy"), "umc_activity": "N/A"}


def amdsmi_get_gpu_process_list(card: int) -> list[dict[str, Any]]:
    return [{"name": "N/A", "pid": pid, "mem": 0} for pid in _of(card, "pids")]


def amdsmi_get_violation_status(card: int) -> dict[str, Any]:
    found: dict[str, Any] = _of(card, "violations")
    return found


def amdsmi_get_gpu_total_ecc_count(card: int) -> dict[str, Any]:
    corrected, uncorrected = _of(card, "ecc")
    return {"correctable_count": corrected, "uncorrectable_count": uncorrected}
