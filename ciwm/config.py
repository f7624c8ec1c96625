"""ciwm.toml, or [tool.ciwm] of pyproject.toml: what the user declares, checked to the last key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from ciwm.config_bench import BenchConfig
from ciwm.config_build import BuildConfig
from ciwm.config_coverage import CoverageConfig
from ciwm.config_ingest import Format, IngestConfig, MetricConfig
from ciwm.config_map import (
    MODEL,
    MapConfig,
    Parallel,
    Params,
    Scalar,
    WorkloadId,
    check_parallel,
)
from ciwm.config_mistakes import explained
from ciwm.config_package import PackageConfig
from ciwm.config_ranks import (
    CollectiveConfig,
    MeasuredAs,
    Scaled,
    ScalingConfig,
    check_torchrun,
    nodes,
)
from ciwm.config_section import Section, read_toml
from ciwm.config_sync import SyncConfig
from ciwm.config_upstream import PinConfig, UpstreamConfig
from ciwm.errors import ConfigError
from ciwm.gate_config import BlockOn, GateConfig, OnDoubt, SeriesRule

Phase = Literal[
    "train",
    "finetune",
    "prefill",
    "decode",
    "generate",
    "serve",
    "preprocess",
    "collective",
    "operator",
]

__all__ = [
    "BenchConfig",
    "BlockOn",
    "BuildConfig",
    "CollectiveConfig",
    "Config",
    "Format",
    "GateConfig",
    "IngestConfig",
    "MetricConfig",
    "OnDoubt",
    "Phase",
    "PinConfig",
    "Scalar",
    "ScalingConfig",
    "SeriesRule",
    "StoreConfig",
    "UpstreamConfig",
    "WorkloadConfig",
    "find_config",
    "parse_config",
    "read_config",
]

FILE_NAMES = ("ciwm.toml", "pyproject.toml")

STEP_TIME = MetricConfig(unit="s", better="lower")
COLLECTIVE_TIME = MetricConfig(unit="us", better="lower")


class WorkloadConfig(Section):
    """What is measured: a timed callable, a command that reports itself, or collectives.

    A callable with more than one device, and a collective, is started by torchrun, a rank a device.
    `files` are globs of the workload's own files besides the one named in `python`/`command`.
    `imports_build` is false where a `python` workload's own process loads nothing of the build, as
    when it starts the build's programs: then nobody checks that the two sides ran different code.
    """

    id: WorkloadId
    """Its name, unique."""
    phase: Phase | None = None
    """What it stands for; shown, never guessed."""
    python: str | None = None
    """A callable that is timed: 'file.py:callable', see `ciwm bench --help`."""
    command: str | None = None
    """Or a program that writes its samples to {out}, see `ciwm bench --help`."""
    collective: CollectiveConfig | None = None
    """Or collectives over sizes and dtypes, between `devices` ranks."""
    model: str | None = None
    """What builds its model for the workload map: 'file.py:build', see docs/map.md."""
    format: Format = "samples-json"
    """The form of what the command writes: ciwm's own, or another tool's (docs/formats.md)."""
    benchmarks: tuple[str, ...] = ()
    """The other tool's benchmarks that are judged, where it has several: a series for each."""
    files: tuple[str, ...] = ()
    """Globs of files it needs besides those in the folder of the file named above."""
    devices: int = Field(default=1, ge=1)
    """Accelerators a launch gets to itself, where there are any; a rank each but for `command`."""
    parallel: tuple[Parallel, ...] = ()
    """How its model is spread over them, for the workload map: ddp, fsdp2, tp, pp, ep."""
    torchrun: tuple[str, ...] = ()
    """Flags for torchrun besides --nproc-per-node: --nnodes=2, --rdzv-endpoint=HOST:PORT, ..."""
    params: Params = {}
    """Values by name; a series for each combination. A single value stands for a list of one."""
    metrics: dict[str, MetricConfig] = {}
    """What it reports; `python` without any is timed as step_time in seconds."""
    iterations: int = Field(default=60, ge=1)
    """Timed calls a launch."""
    warmup_iterations: int = Field(default=3, ge=0)
    """Calls before them, at least."""
    warmup_s: float = Field(default=0.5, ge=0)
    """Seconds of calls before them, at least."""
    warmup_max_s: float = Field(default=5, ge=0)
    """Seconds of calls before them, at most: until their level no longer falls. 0: at once."""
    batch: int | None = Field(default=None, ge=1)
    """Calls timed together as one sample, their mean; none: several where one takes under 50 us."""
    flush_cache: bool = False
    """Whether the last-level cache of CPU or accelerator is overwritten before each timed call."""
    timeout_s: float = Field(default=900, gt=0)
    """Seconds after which a launch counts as hung."""
    launcher: str = ""
    """What starts each launch on a node: "srun -N1 --gres=gpu:{devices}"; also {workload}."""
    communication_share: bool = False
    """true: a launch more a side (--factor: combination) is profiled for communication's share."""
    imports_build: bool = True
    """false: its process only starts the build's programs, and loads nothing of it itself."""

    @model_validator(mode="after")
    def _one_kind(self) -> WorkloadConfig:
        kinds = (self.python, self.command, self.collective)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError(
                "state exactly one of python = 'file.py:callable', command = '...' and "
                "collective = { ... }"
            )
        if self.python is not None and not re.fullmatch(r"[^:]+\.py:[A-Za-z_][\w.]*", self.python):
            raise ValueError("python is 'file.py:callable'")
        if self.model is not None and not MODEL.fullmatch(self.model):
            raise ValueError("model is 'file.py:build'")
        check_parallel(self.parallel, self.devices)
        if self.command is not None and not self.metrics:
            raise ValueError("a command workload states metrics = { name = { unit, better } }")
        if self.collective is not None and (self.params or self.files):
            raise ValueError("a collective has no params and no files: its table says all")
        check_torchrun(self.torchrun, devices=self.devices, by_command=self.command is not None)
        if self.collective is not None and self.ranks == 1:
            raise ValueError("a collective is between ranks: state devices = 2 or more")
        if self.communication_share and (self.python is None or self.ranks == 1):
            raise ValueError(
                "communication_share is for python workloads of several ranks: state devices = 2"
            )
        if self.command is None and (self.benchmarks or self.format != "samples-json"):
            raise ValueError("format and benchmarks are for what a command writes")
        if self.benchmarks and self.format == "samples-json":
            raise ValueError("benchmarks are those of another tool: state its format")
        return self

    @property
    def ranks(self) -> int:
        """How many processes measure together: one a device on each node, for a command one."""
        return 1 if self.command is not None else self.devices * nodes(self.torchrun)

    @property
    def matrix(self) -> dict[str, tuple[Scalar, ...]]:
        """Values by name, a series for each combination: `params`, or those of the collective."""
        return self.params if self.collective is None else dict(self.collective.matrix)

    @property
    def declared_metrics(self) -> dict[str, MetricConfig]:
        """The metrics of each series; what is timed and states none has step_time.

        In seconds; of a collective in microseconds.
        """
        default = STEP_TIME if self.collective is None else COLLECTIVE_TIME
        return self.metrics or {"step_time": default}

    @property
    def scaled(self) -> Scaled:
        """What a scaling group has to know of it."""
        metrics = {
            name: MeasuredAs(one.unit, one.better, one.over_ranks)
            for name, one in self.declared_metrics.items()
        }
        return Scaled(self.ranks, self.command is not None, metrics)


class StoreConfig(Section):
    """Where runs are kept: `git:BRANCH`, or `dir:PATH`."""

    url: str = "git:ciwm-data"
    """`git:BRANCH` of this repository, or `dir:PATH`."""


class Config(Section):
    """All of it; every table is optional."""

    upstream: UpstreamConfig = UpstreamConfig()
    """Where upstream is."""
    build: BuildConfig = BuildConfig()
    """How a revision is built."""
    workload: tuple[WorkloadConfig, ...] = ()
    """What is measured."""
    package: PackageConfig = PackageConfig()
    """What container image is made of each side."""
    scaling: tuple[ScalingConfig, ...] = ()
    """Which workloads are the same work on more and more devices."""
    bench: BenchConfig = BenchConfig()
    """Where launches are made, and how they are watched."""
    gate: GateConfig = GateConfig()
    """What blocks."""
    sync: SyncConfig = SyncConfig()
    """What staying in sync may cost."""
    coverage: CoverageConfig = CoverageConfig()
    """Where test coverage is written down."""
    map: MapConfig = MapConfig()
    """The workload map."""
    store: StoreConfig = StoreConfig()
    """Where runs are kept."""
    ingest: IngestConfig = IngestConfig()
    """Files of other tools."""

    @field_validator("workload", "scaling", mode="before")
    @classmethod
    def _several(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, dict):
            what = f"there may be several: write [[{info.field_name}]], in two brackets"
            raise ValueError(what)  # noqa: TRY004  what pydantic takes for a mistake of the user
        return value

    @model_validator(mode="after")
    def _distinct(self) -> Config:
        ids = [workload.id for workload in self.workload]
        ids += [workload.id for workload in self.map.workload]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            raise ValueError(f"workload id used twice: {', '.join(twice)}")
        for group in self.scaling:
            group.check({one.id: one.scaled for one in self.workload})
        return self


def find_config(root: Path) -> Config:
    """The configuration of a checkout: ciwm.toml, else [tool.ciwm], else all defaults."""
    for name in FILE_NAMES:
        path = root / name
        if path.is_file():
            config = parse_config(path.read_bytes(), source=str(path))
            if config is not None:
                return config
    return Config()


def read_config(path: Path) -> Config:
    """The configuration in a file the user named; raises ConfigError when there is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    config = parse_config(data, source=str(path))
    if config is None:
        raise ConfigError(f"{path} has no [tool.ciwm] table")
    return config


def parse_config(data: bytes, source: str) -> Config | None:
    """The configuration in a TOML text; None for a pyproject.toml without [tool.ciwm]."""
    table: Any = read_toml(data, source)
    if source.endswith("pyproject.toml"):
        tool = table.get("tool")
        table = tool.get("ciwm") if isinstance(tool, dict) else None
        if table is None:
            return None
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise explained(error, source, Config, table) from error
