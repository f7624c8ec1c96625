"""[map] of the configuration: which workloads are mapped, against which device, and what blocks."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from ciwm.config_section import Section

MODEL = re.compile(r"[^:]+\.py:[A-Za-z_]\w*")
Scalar = str | int | float | bool
MapPhase = Literal["train", "finetune", "prefill", "decode", "generate", "serve", "preprocess"]
Parallel = Literal["ddp", "fsdp2", "tp", "pp", "ep"]
MapStageName = Literal[
    "intensity", "census", "ghost", "queue", "fallback", "correctness", "communication", "compile"
]


def _listed(value: Any) -> Any:
    """Parameters whose single values are lists of one."""
    if not isinstance(value, dict):
        return value
    return {name: [one] if isinstance(one, Scalar) else one for name, one in value.items()}


def _plain(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", value):
        raise ValueError("use letters, digits, '.', '_' and '-' (at most 100)")
    return value


# of a [[workload]], too
WorkloadId = Annotated[str, AfterValidator(_plain)]
Params = Annotated[dict[str, tuple[Scalar, ...]], BeforeValidator(_listed)]


class MapWorkload(Section):
    """A workload that is mapped and not timed: as [[workload]], with a model alone."""

    id: WorkloadId
    """Its name, unique among all workloads."""
    model: str
    """What builds it: 'file.py:build', see docs/map.md."""
    phase: MapPhase | None = None
    """What it stands for, and so what of the model runs."""
    params: Params = {}
    """Values by name; one observation for each combination. A single value is a list of one."""
    devices: int = Field(default=1, ge=1)
    """Accelerators it runs on."""
    parallel: tuple[Parallel, ...] = ()
    """How it is spread over them, for its communication pattern: ddp, fsdp2, tp, pp, ep."""

    @model_validator(mode="after")
    def _readable(self) -> MapWorkload:
        if not MODEL.fullmatch(self.model):
            raise ValueError("model is 'file.py:build'")
        check_parallel(self.parallel, self.devices)
        return self


def check_parallel(stated: tuple[Parallel, ...], devices: int) -> None:
    """Raise ValueError where there is nothing to be spread over."""
    if stated and devices == 1:
        raise ValueError(f"parallel is {stated[0]}, on one device: state devices = 2 or more")


class DeviceConfig(Section):
    """The device that intensity and memory are held against: declared, with its source."""

    name: str
    """What it is called."""
    peak_tflops: float = Field(gt=0)
    """Dense peak in TFLOP/s, of the dtype that the workloads compute in."""
    bandwidth_gb_s: float = Field(gt=0)
    """Memory bandwidth in GB/s."""
    memory_gib: float | None = Field(default=None, gt=0)
    """Memory of one device in GiB."""
    source: str
    """Where the figures are from: a data sheet, a measurement."""

    @property
    def ridge_flop_per_byte(self) -> float:
        """The arithmetic intensity at which compute and bandwidth take equally long."""
        return self.peak_tflops * 1e12 / (self.bandwidth_gb_s * 1e9)


class FallbackBudget(Section):
    """How much of a workload may run on the CPU; what is not stated is not limited."""

    match: str = "*"
    """A glob for the workload; the first budget that matches counts, alone."""
    calls: int | None = Field(default=None, ge=0)
    """Calls of operators that fall back, at most."""
    share_pct: float | None = Field(default=None, ge=0, le=100)
    """Their share of the step's time, in percent, at most; needs the fallback stage on a device."""


class OnDeviceConfig(Section):
    """What the stages that run on a device (fallback, correctness, communication) are given."""

    device: str = "auto"
    """The device as PyTorch calls it (cuda, xpu, npu); auto is the build's accelerator."""
    imports: tuple[str, ...] = ()
    """Modules to import first, for plugins that PyTorch does not load by itself."""
    dtypes: tuple[str, ...] = Field(default=("float32", "bfloat16"), min_length=1)
    """dtypes that the operator sweep runs in."""
    samples: int = Field(default=24, ge=1)
    """Of PyTorch's own samples, how many of each operator and dtype, evenly from its list."""
    operators: tuple[str, ...] = Field(default=("*",), min_length=1)
    """Globs for the operators of the sweep, by PyTorch's names (nn.functional.gelu)."""
    operator_timeout_s: float = Field(default=60, gt=0)
    """Seconds after which one operator counts as hung."""
    sweep_timeout_s: float = Field(default=3600, gt=0)
    """Seconds that the whole sweep may take."""
    worlds: tuple[int, ...] = Field(default=(8,), min_length=1)
    """Numbers of ranks that the needs of parallel strategies are counted for, from 2 on."""

    @field_validator("worlds")
    @classmethod
    def _of_several(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if min(value) < 2:  # noqa: PLR2004
            raise ValueError(f"{min(value)} ranks have nobody to talk to: state 2 or more")
        return value


class MapConfig(Section):
    """What `ciwm map run` observes, and whether `ciwm ci` compares base and head by it."""

    enabled: bool = False
    """true: `ciwm ci` maps base and head and tells what changed."""
    only: tuple[MapStageName, ...] = ("intensity", "census", "ghost", "queue")
    """The stages to run; a stage that has nothing to work with is skipped."""
    target: str | None = None
    """A manifest to predict for: a file, or cuda for the one that is shipped."""
    device: DeviceConfig | None = None
    """The declared device: peak, bandwidth, memory, and their source."""
    queue: Literal["order", "proven", "off"] = "order"
    """The queue in `ciwm ci`: its order, at no cost; proven by strict runs too; or left out."""
    timeout_s: float = Field(default=300, gt=0)
    """Seconds after which one stage of one workload counts as hung."""
    on_device: OnDeviceConfig = OnDeviceConfig()
    """The device itself, where there is one."""
    cases: int = Field(default=4, ge=1)
    """Points of a workload's parameters that are mapped, at most."""
    fallback_budget: tuple[FallbackBudget, ...] = ()
    """What may run on the CPU, by workload."""
    licence: str = ""
    """A licence note for maps and manifests that are shared."""
    workload: tuple[MapWorkload, ...] = ()
    """Workloads that are mapped and not timed."""
