"""[bench] of the configuration: where launches are made, how watched, what may be changed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ciwm.config_section import Section

FASTEST_HZ = 100


class RayConfig(Section):
    """The Ray cluster of `engine = "ray"`; every node of it has `ciwm[ray]` and git installed."""

    address: str = "auto"
    """The cluster: "auto" for the one this machine is a node of, HOST:PORT, or ray://HOST:PORT."""
    resources: dict[str, float] = {}
    """Ray resources a block's task asks for besides GPUs, to choose nodes: { "H200" = 0.001 }."""
    lost_blocks: int = Field(default=3, ge=0)
    """Blocks that may be lost with their node, and are measured anew, before the run ends."""


class BenchConfig(Section):
    """Where launches are made, how they are watched, and what may be changed on a card.

    Nothing changes clocks or power unless `lock_clocks` asks, which takes root. The clock is set
    for each block and given back to the driver's own rule at its end, also when ciwm is killed. A
    lock that somebody else had set before cannot be read from the driver: it is not put back.
    """

    engine: Literal["local", "ray"] = "local"
    """local: on this machine's cards. ray: each block on some node of a Ray cluster."""
    blocks_at_once: int | None = Field(default=None, ge=1)
    """Blocks side by side, at most. Not stated: as many as have cards; without cards always one."""
    ray: RayConfig = RayConfig()
    """The cluster of engine = "ray"."""
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
