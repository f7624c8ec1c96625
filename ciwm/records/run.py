"""Run: what was planned, what was launched, and every sample as it was measured."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from ciwm.records.base import Record, RecordFile
from ciwm.records.build import BuildRecord, Revision
from ciwm.records.environment import Environment, ShardEnvironment
from ciwm.records.labels import labelled, unlabelled
from ciwm.records.ranks import (
    CollectiveSeries,
    CommunicationProfile,
    RankSamples,
    ScalingGroup,
)
from ciwm.records.samples import Samples as Samples  # noqa: PLC0414  it is read from here
from ciwm.records.telemetry import HostTelemetry, Telemetry

Side = Literal["base", "head"]
SIDES: tuple[Side, Side] = ("base", "head")
Better = Literal["lower", "higher"]
Order = Literal["seeded", "unknown", "apart", "trusted"]
LOADED_NOTHING = "loaded nothing from its build"  # the detail of a launch that ended well otherwise
ExitReason = Literal[
    "ok",  # ended by itself with samples for every declared series
    "failed",  # raised, or exited non-zero
    "timeout",  # killed after its time limit
    "oom",  # killed for memory, or reported out of memory
    "signal",  # died of a signal (segmentation fault, ...)
    "invalid",  # ran, but gave NaN, infinity, no samples, or an unreadable result
    "interrupted",  # stopped by us (SIGTERM, SIGINT, budget)
    "lost",  # the controller died before it could say
]
LARGEST_COUNT = 10**9  # of series or launches in a plan: more is a mistake, or mischief


class Series(Record):
    """One gated or shown quantity: a workload with its parameters, and a metric of it.

    `threshold_abs`, in `unit`, takes the place of `threshold_pct` and compares differences.
    `noise` is the launch sd known beforehand, as a log or, with `threshold_abs`, in `unit`;
    `detectable` the smallest threshold that this machine can serve, in percent or in `unit`.
    """

    series: str
    metric: str
    workload: str
    unit: str
    better: Better
    threshold_pct: float = Field(gt=0)
    threshold_abs: float | None = Field(default=None, gt=0)
    noise: float | None = Field(default=None, gt=0)
    detectable: float | None = Field(default=None, gt=0)
    quantiles: tuple[float, ...] = (0.5,)

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it in a run."""
        return (self.series, self.metric)

    def in_shard(self, label: str) -> Series:
        """The series under the names that it has in a merged run."""
        names = {name: labelled(getattr(self, name), label) for name in ("series", "workload")}
        return self.model_copy(update=names)


class Launch(Record):
    """One fresh worker process: where it stood in the plan, what it measured, how it ended.

    Where several ranks measured together, `samples` are those of all of them made one (of a time
    the slowest's), and `ranks` what each said itself. `cards` are the indices of the accelerators
    it ran on, `node` the node that a launcher or a cluster ran it on.
    `unsteady` are series whose times still fell when the longest warm-up was over. `telemetry` has
    an entry for each card it ran on; `telemetry_problem` says why some of it is missing.
    """

    number: int
    workload: str
    side: Side
    block: int
    attempt: int = 0
    position: int
    started_at: AwareDatetime
    duration_s: float
    exit: ExitReason
    exit_code: int | None = None
    detail: str = ""
    warmup_iterations: int = 0
    unsteady: tuple[str, ...] = ()
    samples: tuple[Samples, ...] = ()
    ranks: tuple[RankSamples, ...] = ()
    cards: tuple[int, ...] = ()
    node: str = ""
    telemetry: tuple[Telemetry, ...] = ()
    host: HostTelemetry | None = None
    telemetry_problem: str = ""
    log: str = ""


class Arm(Record):
    """One side: its revision, its build, and the environment its launches reported."""

    revision: Revision
    build: BuildRecord | None = None
    environment: Environment


class Shard(Record):
    """A partial run of a matrix, as it went into a merged one, with what it had of its own.

    `workloads` are its workloads under their merged names. `missing` says why there is no run of
    this label; what it was to measure is planned all the same, and so is missed.
    """

    label: str
    run: str = ""
    seed: int = 0
    workloads: tuple[str, ...] = ()
    base: Arm | None = None
    head: Arm | None = None
    complete: bool = False
    stopped_because: str = ""
    missing: str = ""


class Plan(Record):
    """Frozen before the first launch: the seed, the block design, and the family of tests.

    `order` is "seeded" when the seed gave the order of launches, "unknown" for foreign samples,
    "apart" when the sides were not measured together, "trusted" when that is to be decided on all
    the same. `gone` are series that base's configuration
    declares and head's does not, `added` workloads that only head's declares. A plan to
    "calibrate" has one build on both sides and uses its launches up. Of a matrix, a partial run has
    the label of its `shard` and those of all in `shard_labels`, a merged one all its `shards`.
    """

    seed: int
    order: Order = "seeded"
    launches_per_side_in_block: int = 2
    max_launches: int = Field(le=LARGEST_COUNT)
    family: tuple[Series, ...]
    family_size: int = Field(ge=0, le=LARGEST_COUNT)
    workloads: tuple[str, ...]
    workloads_from: Revision
    touched_workloads: tuple[str, ...] = ()
    gone: tuple[Series, ...] = ()
    added: tuple[str, ...] = ()
    purpose: Literal["compare", "calibrate"] = "compare"
    collectives: tuple[CollectiveSeries, ...] = ()
    scaling: tuple[ScalingGroup, ...] = ()
    shard: str = ""
    shard_labels: tuple[str, ...] = ()
    shards: tuple[Shard, ...] = ()

    def drawn_for(self, workload: str) -> tuple[int, str]:
        """The seed and the name by which a workload's launch order was drawn."""
        shard = self.shard_of(workload)
        if shard is None:
            return self.seed, workload
        return shard.seed, unlabelled(workload, shard.label)

    def shard_of(self, workload: str) -> Shard | None:
        """The partial run that a workload of a merged run comes from."""
        return next((shard for shard in self.shards if workload in shard.workloads), None)


class Run(RecordFile):
    """Everything one `ciwm bench` measured."""

    id: str
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    plan: Plan
    base: Arm
    head: Arm
    launches: tuple[Launch, ...] = ()
    communication: tuple[CommunicationProfile, ...] = ()
    complete: bool
    stopped_because: str

    def arm(self, side: Side, workload: str = "") -> Arm:
        """The base or the head arm; that of a workload's own shard, in a merged run."""
        shard = self.plan.shard_of(workload) if workload else None
        own = None if shard is None else shard.base if side == "base" else shard.head
        return own or (self.base if side == "base" else self.head)

    def machines(self) -> tuple[ShardEnvironment, ...]:
        """Each machine, by fingerprint, that shards of a merged run ran on; else its only one."""
        heads = {shard.label: shard.head for shard in self.plan.shards if shard.head is not None}
        found: dict[str, tuple[list[str], Environment]] = {}
        for label, arm in (heads or {"": self.head}).items():
            known = found.setdefault(arm.environment.fingerprint, ([], arm.environment))
            known[0].append(label)
        return tuple(
            ShardEnvironment(shard=", ".join(filter(None, labels)), environment=environment)
            for labels, environment in found.values()
        )
