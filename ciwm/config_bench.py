"""[bench] of the configuration: how launches are watched, and what may be changed on a card."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ciwm.config_section import Section

FASTEST_HZ = 100


class BenchConfig(Section):
    """How launches are watched, and what may be changed on a card.

    Nothing changes clocks or power unless `lock_clocks` asks, which takes root. The clock is set
    for each block and given back to the driver's own rule at its end, also when ciwm is killed. A
    lock that somebody else had set before cannot be read from the driver: it is not put back.
    """

    telemetry_hz: float = Field(default=10, ge=0, le=FASTEST_HZ)
    """Readings a second of clocks, throttle reasons, power, ... beside a launch; 0: none."""
    devices: Literal["auto", "torch", "cpu"] = "auto"
    """What launches run on: "auto" finds NVIDIA and AMD cards by their drivers.

    "torch" asks the head's torch, and so does auto where the machine shows another accelerator
    (npu, xpu, ...); "cpu" looks for none.
    """
    probe: bool = False
    """Whether cards are probed before anything is measured, and a sick one refused (ciwm probe)."""
    lock_clocks: int | None = Field(default=None, gt=0)
    """The SM clock (MHz) to hold NVIDIA cards at while they are measured; none: left alone."""
