"""[bench]: where and how launches are made."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ciwm.config_section import Section


class RayConfig(Section):
    """The Ray cluster of `engine = "ray"`; every node of it has `ciwm[ray]` and git installed."""

    address: str = "auto"
    """The cluster: "auto" for the one this machine is a node of, HOST:PORT, or ray://HOST:PORT."""
    resources: dict[str, float] = {}
    """Ray resources a block's task asks for besides GPUs, to choose nodes: { "H200" = 0.001 }."""
    lost_blocks: int = Field(default=3, ge=0)
    """Blocks that may be lost with their node, and are measured anew, before the run ends."""


class BenchConfig(Section):
    """Where and how launches are made."""

    engine: Literal["local", "ray"] = "local"
    """local: on this machine's cards. ray: each block on some node of a Ray cluster."""
    blocks_at_once: int | None = Field(default=None, ge=1)
    """Blocks side by side, at most. Not stated: as many as have cards; without cards always one."""
    ray: RayConfig = RayConfig()
    """The cluster of engine = "ray"."""
