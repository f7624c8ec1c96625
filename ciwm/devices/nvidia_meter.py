"""An NVIDIA card as the sampler reads it, through NVML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ciwm.devices.meter import Errors, Gone, Reading
from ciwm.devices.nvml import handle_of, lacking, lost, optional, whole_card

if TYPE_CHECKING:
    from collections.abc import Callable

# bits of nvmlDeviceGetCurrentClocksEventReasons
REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
# what may void a launch is in every reading, the rest in thorough ones: a driver's calls are dear
FAST = ("sm_clock_mhz", "utilisation_pct", "reasons")
MOST_EVENTS = 32  # of one reading: a card that raises more is told to be broken by these


class NvidiaMeter:
    """A card, or a MIG instance; clocks, power and ECC are those of the whole card.

    `readers` are the single readings that it has, by the name of their field.
    """

    def __init__(self, index: int, uuid: str | None) -> None:
        """Raises Gone when the driver or the card does not answer."""
        import pynvml  # noqa: PLC0415  only where it is used

        self._nvml: Any = pynvml
        self._complaints: list[str] = []
        self._failed: set[str] = set()
        try:
            pynvml.nvmlInit()
            self._handle = handle_of(pynvml, index, uuid)
            self._card = whole_card(pynvml, self._handle)
            self._events = self._event_set()
        except pynvml.NVMLError as error:
            raise Gone(str(error)) from error
        self.readers = self._make_readers()

    def read(self, *, thorough: bool) -> Reading:
        """What the card does now; what it lacks is asked once only."""
        found: dict[str, Any] = {}
        for name in tuple(self.readers) if thorough else FAST:
            read = self.readers.get(name)
            if read is None:
                continue
            try:
                found[name] = read()
            except lacking(self._nvml):
                del self.readers[name]
            except lost(self._nvml) as error:
                raise Gone(str(error)) from error
            except self._nvml.NVMLError as error:  # as under some hypervisors: this one, for good
                del self.readers[name]
                self._complaints.append(f"{name}: {error}")
        return Reading(**found)

    def complaints(self) -> tuple[str, ...]:
        """Readings that failed since the last call."""
        said, self._complaints = tuple(self._complaints), []
        return said

    def processes(self) -> tuple[int, ...]:
        """Pids with a compute context on the card; that nobody tells them is a complaint."""
        what = "processes"
        running = self._asked(
            what, lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle), None
        )
        if running is None:
            if what not in self._failed:
                self._failed.add(what)
                self._complaints.append(f"{what}: the driver does not tell them")
            return ()
        return tuple(process.pid for process in running)

    def errors(self) -> Errors:
        """ECC errors since the driver was loaded."""
        nvml = self._nvml

        def count(kind: Any) -> Any:
            volatile = nvml.NVML_VOLATILE_ECC
            return self._asked(
                "ECC", lambda: nvml.nvmlDeviceGetTotalEccErrors(self._card, kind, volatile), None
            )

        return Errors(
            count(nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
            count(nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        )

    def events(self) -> tuple[int, ...]:
        """XIDs since the last call."""
        found: list[int] = []
        while self._events is not None and len(found) < MOST_EVENTS:
            try:
                found.append(int(self._nvml.nvmlEventSetWait_v2(self._events, 0).eventData))
            except self._nvml.NVMLError_Timeout:
                break
            except self._nvml.NVMLError as error:
                raise Gone(str(error)) from error
        return tuple(found)

    def _asked(self, what: str, read: Callable[[], Any], otherwise: Any) -> Any:
        """A reading that is taken seldom; once it has failed it is not tried again."""
        if what in self._failed:
            return otherwise
        try:
            found = optional(self._nvml, read)
        except lost(self._nvml) as error:
            raise Gone(str(error)) from error
        except self._nvml.NVMLError as error:
            self._failed.add(what)
            self._complaints.append(f"{what}: {error}")
            return otherwise
        return otherwise if found is None else found

    def _event_set(self) -> Any:
        """What collects the card's critical events; None where it raises none."""
        xids = self._nvml.nvmlEventTypeXidCriticalError
        try:
            events = self._nvml.nvmlEventSetCreate()
            self._nvml.nvmlDeviceRegisterEvents(self._card, xids, events)
        except lost(self._nvml):
            raise
        except lacking(self._nvml):
            return None
        except self._nvml.NVMLError as error:
            self._complaints.append(f"XIDs: {error}")
            return None
        return events

    def _make_readers(self) -> dict[str, Callable[[], Any]]:
        nvml, card = self._nvml, self._card
        # by their names since driver 535, and until CUDA 14, else by the other ones
        reasons = either(
            nvml,
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetCurrentClocksThrottleReasons",
        )
        temperature = either(nvml, "nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
        return {
            "sm_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM),
            "memory_clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_MEM),
            "temperature_c": lambda: temperature(card, nvml.NVML_TEMPERATURE_GPU),
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(card) / 1000,
            "utilisation_pct": lambda: int(nvml.nvmlDeviceGetUtilizationRates(card).gpu),
            "memory_bytes": lambda: int(nvml.nvmlDeviceGetMemoryInfo(self._handle).used),
            "reasons": lambda: reason_names(int(reasons(card))),
        }


def reason_names(bits: int) -> tuple[str, ...]:
    """The names of the reasons that are set; a bit without a name by its number."""
    names = [name for bit, name in REASONS.items() if bits & bit]
    unnamed = bits & ~sum(REASONS)
    return (*names, *([f"reason_{unnamed:#x}"] if unnamed else []))


def either(binding: Any, *names: str) -> Callable[..., Any]:
    """What calls the first of these functions that binding and driver both have.

    Newer ones replace older ones, which later are no more.
    """
    left = [name for name in names if hasattr(binding, name)] or [names[-1]]

    def call(*arguments: Any) -> Any:
        while True:
            try:
                return getattr(binding, left[0])(*arguments)
            except binding.NVMLError_FunctionNotFound:
                if len(left) == 1:
                    raise
                del left[0]

    return call
