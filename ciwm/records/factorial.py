"""FactorialRun and Attribution: two changes measured with and without each other."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ciwm.records.base import Record, RecordFile
from ciwm.records.build import Revision
from ciwm.records.ranks import CommunicationProfile, CommunicationShare
from ciwm.records.run import Arm, Better, Launch, Series

Cell = Literal["neither", "first", "second", "both"]
Owner = Literal["nobody", "first", "second", "both", "interaction", "unclear"]


class FactorialLaunch(Record):
    """One launch of one combination; the launch's own `side` says only whether it is "neither"."""

    cell: Cell
    launch: Launch


class FactorialProfile(Record):
    """The communication of one series of one combination; its own `side` says as little."""

    cell: Cell
    profile: CommunicationProfile


class FactorialRun(RecordFile):
    """Everything one `ciwm bench --factor` measured: blocks of one launch of each combination."""

    id: str
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    seed: int
    factors: tuple[str, str]
    max_launches: int
    family: tuple[Series, ...]
    workloads: tuple[str, ...]
    workloads_from: Revision
    arms: dict[Cell, Arm]
    launches: tuple[FactorialLaunch, ...] = ()
    communication: tuple[FactorialProfile, ...] = ()
    complete: bool
    stopped_because: str


class Part(Record):
    """A change with its interval: a ratio as measured, or, with `threshold_abs`, in `unit`."""

    change: float
    low: float
    high: float


class SeriesAttribution(Record):
    """Whose the change of a series is: ratios multiply to the total, differences add up to it."""

    series: str
    metric: str
    workload: str
    unit: str
    better: Better
    threshold_abs: float | None = None
    launches: int
    values: dict[Cell, float] = {}
    total: Part | None = None
    first: Part | None = None
    second: Part | None = None
    interaction: Part | None = None
    owner: Owner
    reason: str


class FactorialShare(Record):
    """How much of a step is communication in one combination."""

    cell: Cell
    share: CommunicationShare


class Attribution(RecordFile):
    """Every series' change, split into the first factor's, the second's and their interaction.

    Shares of communication are shown and not split: each is that of one launch.
    """

    run: str
    factors: tuple[str, str]
    interval_method: str
    series: tuple[SeriesAttribution, ...]
    communication: tuple[FactorialShare, ...] = ()
    problems: tuple[str, ...] = ()
