"""What is written down of work on several devices: each rank's samples, collectives, scaling."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ciwm.records.base import Record
from ciwm.records.labels import labelled
from ciwm.records.samples import Samples

LARGEST_BYTES = 2**40
MOST_RANKS = 10**6
ROUNDED = 1 + 1e-9  # a sum of parts may be as much larger than the whole


class RankSamples(Record):
    """What one rank of a launch measured; iteration k of all ranks is the same step."""

    rank: int = Field(ge=0)
    host: str = ""
    samples: tuple[Samples, ...] = ()


class RankCommunication(Record):
    """What torch.profiler saw of one rank: seconds of a step, on average over `steps` of them.

    `total_s` is the time in which at least one collective was under way, `exposed_s` that part of
    it in which nothing was computed.
    """

    rank: int = Field(ge=0)
    steps: int = Field(ge=1)
    step_s: float = Field(gt=0, allow_inf_nan=False)
    total_s: float = Field(ge=0, allow_inf_nan=False)
    exposed_s: float = Field(ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _parts(self) -> RankCommunication:
        if not self.exposed_s <= self.total_s <= self.step_s * ROUNDED:
            raise ValueError("exposed_s is a part of total_s, and that of step_s")
        return self

    @property
    def own_s(self) -> float:
        """What the rank takes by itself: the step less what it waits for collectives."""
        return self.step_s - self.exposed_s


class CommunicationProfile(Record):
    """The communication of one series on one side, by a launch that was profiled and not timed.

    `device` is what was watched: "cpu", or the accelerator. Without `ranks` it was not measured,
    and `problem` says why.
    """

    series: str
    workload: str
    side: Literal["base", "head"]
    device: str = ""
    ranks: tuple[RankCommunication, ...] = ()
    problem: str = ""


class CollectiveSeries(Record):
    """A series that is a collective: `size_bytes` as nccl-tests counts them, and its peak.

    `peak_gb_s` is the bus bandwidth that could be reached at most (1e9 bytes a second), declared
    or that of the cards' links, and `peak_source` says which; None where neither is known, and
    `peak_source` says why.
    """

    series: str
    operation: str
    dtype: str
    size_bytes: int = Field(gt=0, le=LARGEST_BYTES)
    ranks: int = Field(ge=2, le=MOST_RANKS)
    peak_gb_s: float | None = Field(default=None, gt=0)
    peak_source: str = ""

    def in_shard(self, label: str) -> CollectiveSeries:
        """The collective under the name that it has in a merged run."""
        return self.model_copy(update={"series": labelled(self.series, label)})


class ScalingPoint(Record):
    """One workload of a scaling group, and the processes it runs in."""

    workload: str
    ranks: int = Field(ge=1, le=MOST_RANKS)


class ScalingGroup(Record):
    """The same work on more and more devices; the first point has the fewest: the reference."""

    id: str
    kind: Literal["strong", "weak"]
    metric: str
    points: tuple[ScalingPoint, ...] = Field(min_length=2)

    def in_shard(self, label: str) -> ScalingGroup:
        """The group under the names that it and its workloads have in a merged run."""
        points = tuple(
            one.model_copy(update={"workload": labelled(one.workload, label)})
            for one in self.points
        )
        return self.model_copy(update={"id": labelled(self.id, label), "points": points})


class Pair(Record):
    """One figure for base and head; None for a side that was not measured."""

    base: float | None = None
    head: float | None = None


class CollectiveFigure(Record):
    """Bandwidths of a collective in GB/s (1e9 bytes), from medians of the slowest rank's times."""

    series: str
    size_bytes: int
    ranks: int
    algbw_gb_s: Pair
    busbw_gb_s: Pair
    peak_gb_s: float | None = None
    peak_source: str = ""


class ScalingFigure(Record):
    """The efficiency with which a workload scales from the reference's ranks to its own."""

    group: str
    kind: Literal["strong", "weak"]
    series: str
    ranks: int
    reference: str
    reference_ranks: int
    efficiency: Pair


class ImbalanceFigure(Record):
    """By how many percent the slowest rank's step is longer than that of ranks on average."""

    series: str
    ranks: int
    imbalance_pct: Pair


class CommunicationShare(Record):
    """How much of a step is communication on one side, in percent of the step of that rank.

    Of the slowest rank, which takes longest by itself and so waits for nobody, and of the one with
    the most: there waiting is a part of it. Without figures `problem` says why.
    """

    series: str
    side: Literal["base", "head"]
    ranks: int = 0
    slowest_rank: int | None = None
    exposed_pct: float | None = None
    total_pct: float | None = None
    most_exposed_pct: float | None = None
    most_total_pct: float | None = None
    step_s: float | None = None
    problem: str = ""


class RankFigures(Record):
    """What a run says of several devices besides its series."""

    collectives: tuple[CollectiveFigure, ...] = ()
    scaling: tuple[ScalingFigure, ...] = ()
    imbalance: tuple[ImbalanceFigure, ...] = ()
    communication: tuple[CommunicationShare, ...] = ()
