"""What the configuration says of work on several devices: torchrun, collectives, scaling."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from ciwm.config_section import Section

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OverRanks = Literal["worst", "sum", "mean"]
Operation = Literal[
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv"
]
ITEM_BYTES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int8": 1,
    "uint8": 1,
}
_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_SIZE = re.compile(r"\s*(\d+)\s*([kKMG]i?B|B)\s*")
LARGEST_BYTES = 2**40
# flags that ciwm gives, or that would make a launch something else than one run of its ranks
_OURS = {
    "nproc-per-node": "state devices instead",
    "no-python": "ciwm starts its own worker",
    "module": "ciwm starts its own worker",
    "run-path": "ciwm starts its own worker",
    "max-restarts": "a launch is one try: a rank that dies ends it",
    "virtual-local-rank": "the worker needs the rank it has",
}


class CollectiveConfig(Section):
    """Collectives of torch.distributed, each over all sizes and dtypes.

    The report shows a share of the peak where `peak_gb_s` is declared, with where it is from, or
    where NVML says what links the cards of one host have between them.
    """

    operations: tuple[Operation, ...] = ("all_reduce",)
    """all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv."""
    sizes: tuple[int, ...] = (2**10, 2**20, 2**26)
    """Sizes as nccl-tests means them, of the larger buffer of a rank: 1048576 or "1MiB"."""
    dtypes: tuple[str, ...] = ("float32",)
    """torch dtypes."""
    backend: str | None = None
    """The process group's backend. Not stated: torch's own choice for the device there is."""
    imports: tuple[str, ...] = ()
    """Modules to import first, of the build, which register a device or a backend."""
    peak_gb_s: float | None = Field(default=None, gt=0)
    """The bus bandwidth that the hardware could reach at most, in GB/s (1e9 bytes a second)."""
    peak_source: str = ""
    """Where that figure is from; stated with `peak_gb_s`."""

    @field_validator("sizes", mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        listed = value if isinstance(value, list | tuple) else [value]
        return [_size(one) if isinstance(one, str) else one for one in listed]

    @field_validator("sizes")
    @classmethod
    def _some_sizes(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if not value or min(value) < 1 or max(value) > LARGEST_BYTES:
            raise ValueError("sizes are of 1 byte to 1 TiB, one at least")
        return value

    @field_validator("operations", "dtypes", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("operations", "dtypes")
    @classmethod
    def _some(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name one at least")
        return value

    @field_validator("dtypes")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in ITEM_BYTES:
                raise ValueError(f"no dtype {name!r}; there are {', '.join(ITEM_BYTES)}")
        return value

    @model_validator(mode="after")
    def _sourced(self) -> CollectiveConfig:
        if (self.peak_gb_s is None) != (not self.peak_source):
            raise ValueError("state peak_gb_s and peak_source together: a peak has a source")
        return self

    @property
    def matrix(self) -> Mapping[str, tuple[str, ...] | tuple[int, ...]]:
        """What there is a series for each combination of."""
        return {"op": self.operations, "bytes": self.sizes, "dtype": self.dtypes}


class MeasuredAs(NamedTuple):
    """A metric's unit, direction and way over ranks."""

    unit: str
    better: str
    over_ranks: str


class Scaled(NamedTuple):
    """What a scaling group is told of a workload."""

    ranks: int
    by_command: bool
    metrics: Mapping[str, MeasuredAs]


class ScalingConfig(Section):
    """The same work on more and more devices, whose efficiency is reported for base and head.

    The workload with the fewest ranks is the reference: with time T and n ranks of it, T' and n'
    of another, efficiency is (T n) / (T' n') for strong scaling and T / T' for weak scaling; of a
    metric of which more is better, in all ranks together, X' n / (X n') for both.
    """

    id: str
    """Its name in the report."""
    kind: Literal["strong", "weak"]
    """strong: the same problem on more devices; weak: a problem that grows with them."""
    workloads: tuple[str, ...] = Field(min_length=2)
    """Ids of workloads, each with another number of devices."""
    metric: str = "step_time"
    """The metric compared; one of which more is better is a total over ranks."""

    def check(self, known: Mapping[str, Scaled]) -> None:
        """Raise ValueError where these workloads make no such series, or none that compare."""
        where = f"scaling {self.id}"
        for name in self.workloads:
            if name not in known:
                raise ValueError(f"{where}: there is no workload {name!r}")
            if self.metric not in known[name].metrics:
                raise ValueError(f"{where}: workload {name} has no metric {self.metric!r}")
        ranks = [known[name].ranks for name in self.workloads]
        if len(set(ranks)) != len(ranks):
            raise ValueError(f"{where}: two of its workloads have the same number of ranks")
        self._check_metric(where, known)

    def _check_metric(self, where: str, known: Mapping[str, Scaled]) -> None:
        """Raise ValueError where the metric is in several units, or a rate is not that of all."""
        first = known[self.workloads[0]].metrics[self.metric]
        for name in self.workloads:
            metric = known[name].metrics[self.metric]
            if metric[:2] != first[:2]:
                raise ValueError(
                    f"{where}: {self.metric} is {metric.unit!r}, {metric.better} of {name}, and "
                    f"{first.unit!r}, {first.better} of {self.workloads[0]}: state one for all"
                )
            by_rank = known[name].ranks > 1 and not known[name].by_command
            if metric.better == "higher" and by_rank and metric.over_ranks != "sum":
                raise ValueError(
                    f"{where}: {self.metric} of {name} is that of one rank, and is to be that of "
                    'all: over_ranks = "sum"'
                )


def check_torchrun(flags: Sequence[str], *, devices: int, by_command: bool) -> None:
    """Raise ValueError for flags that cannot be passed on to torchrun."""
    if flags and by_command:
        raise ValueError("torchrun is for python workloads; a command starts its own processes")
    for name, value in _pairs(flags):
        if name in _OURS and (name, value) != ("max-restarts", "0"):
            raise ValueError(f"torchrun = --{name}: {_OURS[name]}")
    if nodes(flags) > 1 and not any(
        name in ("rdzv-endpoint", "master-addr") for name, _ in _pairs(flags)
    ):
        raise ValueError(
            "torchrun on several nodes needs to be told where they meet: "
            "--rdzv-backend=c10d --rdzv-endpoint=HOST:PORT"
        )
    if devices * nodes(flags) == 1 and flags:
        raise ValueError("torchrun starts several ranks: state devices = 2, or --nnodes=2")


def nodes(flags: Sequence[str]) -> int:
    """The number of nodes that flags of torchrun state; raises ValueError for a range."""
    stated = dict(_pairs(flags)).get("nnodes", "1")
    if not re.fullmatch(r"[1-9]\d{0,4}", stated):
        raise ValueError(
            f"torchrun = --nnodes={stated}: a measured launch has a fixed number of nodes"
        )
    return int(stated)


def has_rendezvous(flags: Sequence[str]) -> bool:
    """Whether flags of torchrun say how its ranks find each other."""
    ways = ("standalone", "rdzv-backend", "rdzv-endpoint", "master-addr", "master-port")
    return any(name in ways for name, _ in _pairs(flags))


def _pairs(flags: Sequence[str]) -> list[tuple[str, str]]:
    """Flags as names and values, however they are written: --a-b=1, --a_b 1."""
    found: list[tuple[str, str]] = []
    for word in flags:
        if word.startswith("-"):
            name, _, value = word.lstrip("-").partition("=")
            found.append(({"m": "module"}.get(name, name).replace("_", "-"), value))
        elif found and not found[-1][1]:
            found[-1] = (found[-1][0], word)
        else:
            raise ValueError(f"torchrun: {word!r} is not a flag, and belongs to none")
    return found


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None or match[2] not in _BYTES:
        raise ValueError(f"{text!r} is not a size such as 4096 or '1MiB'")
    return int(match[1]) * _BYTES[match[2]]
