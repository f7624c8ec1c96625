"""What cards and machine did while a launch ran; None where it could not be read."""

from __future__ import annotations

from ciwm.records.base import Record


class Telemetry(Record):
    """What a card did during one launch.

    `sm_clock_busy_mhz` is the median over the readings with the card at work; `foreign_pids` are
    processes on the card that are not the launch's own (`foreign_names` beside them, empty where
    another PID namespace hides the name), `unattributed_pids` came and went with the launch but
    cannot be told to be its own. ECC counts are the errors during the launch, corrected ones and
    others; `xids` are the driver's critical events.
    """

    accelerator: int
    vendor: str | None = None
    readings: int = 0
    sm_clock_min_mhz: int | None = None
    sm_clock_max_mhz: int | None = None
    sm_clock_busy_mhz: int | None = None
    sm_clock_locked_mhz: int | None = None
    memory_clock_min_mhz: int | None = None
    memory_clock_max_mhz: int | None = None
    temperature_max_c: int | None = None
    power_max_w: float | None = None
    utilisation_mean_pct: float | None = None
    memory_max_bytes: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    foreign_pids: tuple[int, ...] = ()
    foreign_names: tuple[str, ...] = ()
    unattributed_pids: tuple[int, ...] = ()
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    xids: tuple[int, ...] = ()


class HostTelemetry(Record):
    """What the machine's CPUs did during one launch, its own work included.

    Shares are of all CPUs. `other_cpus` is how many CPUs' worth of time went to anything but the
    launch; `steal_*` is time that a hypervisor gave to other guests; `throttled_s` how long our
    cgroup's CPU quota held somebody back; `thermal_throttles` how often a core was slowed for heat.
    """

    readings: int
    busy_mean_pct: float | None = None
    busy_max_pct: float | None = None
    steal_mean_pct: float | None = None
    steal_max_pct: float | None = None
    other_cpus: float | None = None
    frequency_min_mhz: float | None = None
    frequency_max_mhz: float | None = None
    throttled_s: float | None = None
    thermal_throttles: int | None = None
