"""An AMD card as the sampler reads it, through `amdsmi`."""

from __future__ import annotations

from typing import Any

from ciwm.devices import amdsmi
from ciwm.devices.amdsmi import asked, number
from ciwm.devices.meter import Errors, Gone, Reading

MIB = 2**20
# what amdsmi_get_violation_status tells, by the names that the NVIDIA reasons have
REASONS = {
    "active_ppt_pwr": "sw_power_cap",
    "active_socket_thrm": "socket_thermal_slowdown",
    "active_vr_thrm": "vr_thermal_slowdown",
    "active_hbm_thrm": "hbm_thermal_slowdown",
    "active_prochot_thrm": "prochot_thermal_slowdown",
}


class AmdMeter:
    """A card by its place in the list that amd-smi shows; a reading it lacks is None."""

    def __init__(self, index: int, uuid: str | None) -> None:
        """Raises Gone when the driver or the card does not answer."""
        try:
            self._smi: Any = amdsmi.binding()
            handles = self._smi.amdsmi_get_processor_handles() if self._smi else []
            self._card = handles[index]
        except Exception as error:
            raise Gone(" ".join(str(error).split())) from error
        if uuid is not None and asked(self._smi, self._uuid) != uuid:
            raise Gone(f"card {index} is another one now")

    def read(self, *, thorough: bool) -> Reading:
        """What the card does now; what voids nothing only where that is asked for."""
        smi, card = self._smi, self._card
        clock = smi.AmdSmiClkType
        fast = Reading(
            sm_clock_mhz=number(smi, lambda: smi.amdsmi_get_clock_info(card, clock.GFX)["clk"]),
            utilisation_pct=number(smi, lambda: smi.amdsmi_get_gpu_activity(card)["gfx_activity"]),
            reasons=self._reasons(),
        )
        if not thorough:
            return fast
        used_mib = number(smi, lambda: smi.amdsmi_get_gpu_vram_usage(card)["vram_used"])
        return fast._replace(
            memory_clock_mhz=number(smi, lambda: smi.amdsmi_get_clock_info(card, clock.MEM)["clk"]),
            temperature_c=self._temperature(),
            power_w=self._power(),
            memory_bytes=None if used_mib is None else used_mib * MIB,
        )

    def processes(self) -> tuple[int, ...]:
        """Pids with work on the card."""
        smi = self._smi
        found = asked(smi, lambda: smi.amdsmi_get_gpu_process_list(self._card)) or ()
        return tuple(int(one["pid"]) for one in found)

    def errors(self) -> Errors:
        """ECC errors since the driver was loaded."""
        smi = self._smi
        counts = asked(smi, lambda: smi.amdsmi_get_gpu_total_ecc_count(self._card)) or {}
        return Errors(counts.get("correctable_count"), counts.get("uncorrectable_count"))

    def events(self) -> tuple[int, ...]:
        """None: XIDs are NVIDIA's."""
        return ()

    def complaints(self) -> tuple[str, ...]:
        """None: what fails is taken for what the card does not have."""
        return ()

    def _uuid(self) -> str:
        return str(self._smi.amdsmi_get_gpu_device_uuid(self._card))

    def _temperature(self) -> int | None:
        smi = self._smi
        return number(
            smi,
            lambda: smi.amdsmi_get_temp_metric(
                self._card,
                smi.AmdSmiTemperatureType.HOTSPOT,
                smi.AmdSmiTemperatureMetric.CURRENT,
            ),
        )

    def _power(self) -> float | None:
        told = asked(self._smi, lambda: self._smi.amdsmi_get_power_info(self._card)) or {}
        watts = [told.get(name) for name in ("current_socket_power", "average_socket_power")]
        return next((float(one) for one in watts if isinstance(one, (int, float))), None)

    def _reasons(self) -> tuple[str, ...]:
        told = asked(self._smi, lambda: self._smi.amdsmi_get_violation_status(self._card)) or {}
        return tuple(name for key, name in REASONS.items() if told.get(key) is True)
