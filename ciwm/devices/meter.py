"""What a card is read by while it works: the interface that every vendor's meter has.

A meter is used by the sampler, a process that runs beside a launch and must cost next to nothing;
so this module and the meters load nothing of ciwm's records.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Reading(NamedTuple):
    """What a card does at this moment; None where it does not say.

    `reasons` are the names of what holds its clock down, in the words of `nvidia-smi -q` with
    underscores: `hw_thermal_slowdown`, `sw_power_cap`, ...
    """

    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    utilisation_pct: int | None = None
    memory_bytes: int | None = None
    reasons: tuple[str, ...] = ()


class Errors(NamedTuple):
    """ECC errors since the driver was loaded; None where the card does not count them."""

    corrected: int | None = None
    uncorrected: int | None = None


class Gone(Exception):  # noqa: N818  what became of the card
    """The card, or its driver, no longer answers; the text says what it said."""


class Meter(Protocol):
    """One card that can be read; every method raises Gone when it no longer answers."""

    def read(self, *, thorough: bool) -> Reading:
        """What the card does now: clock, use and reasons, or all of it where that is asked for."""

    def processes(self) -> tuple[int, ...]:
        """Pids with work on the card, as the driver numbers them."""

    def errors(self) -> Errors:
        """Its ECC counts."""

    def events(self) -> tuple[int, ...]:
        """XIDs since the last call."""

    def complaints(self) -> tuple[str, ...]:
        """Readings that failed, and will not be tried again, since the last call."""


def open_meter(card: dict[str, Any]) -> Meter | None:
    """The meter of a card (`vendor`, `index`, `uuid`); None for a vendor without one.

    Raises Gone when the card cannot be opened.
    """
    if card["vendor"] == "nvidia":
        from ciwm.devices.nvidia_meter import NvidiaMeter  # noqa: PLC0415  only where there is one

        return NvidiaMeter(card["index"], card["uuid"])
    if card["vendor"] == "amd":
        from ciwm.devices.amd_meter import AmdMeter  # noqa: PLC0415

        return AmdMeter(card["index"], card["uuid"])
    return None
