"""Collectives: what the strategies of the workloads call, and what the installed backend has."""

from __future__ import annotations

from typing import Literal

from ciwm.records.amounts import Count, Number
from ciwm.records.base import Record

CellStatus = Literal["ok", "gap", "wrong", "crash"]
Strategy = Literal["ddp", "fsdp2", "tp", "pp", "ep", "own"]  # own: what the workload itself calls
PatternClass = Literal[
    "all-reduce",
    "all-gather + reduce-scatter",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "pipeline send/recv",
    "one to many",  # broadcast, scatter, gather, reduce, barrier
]


class CollectiveCell(Record):
    """One collective that was tried: `wrong` is other numbers than by hand, `gap` a refusal."""

    primitive: str
    dtype: str
    reduce_op: str = ""
    status: CellStatus
    detail: str = ""


class CollectiveProbe(Record):
    """Every primitive x dtype x reduce-op, tried by real ranks."""

    backend: str
    device: str
    ranks: Number
    cells: tuple[CollectiveCell, ...] = ()


class CollectiveNeed(Record):
    """What one step calls: bytes are of whole arrays (an all-gather's result), all calls together.

    `group` is the number of ranks that take part; the smallest and the largest are of one call.
    """

    primitive: str
    dtype: str
    reduce_op: str = ""
    group: Count
    calls: Count
    bytes: Count
    smallest_bytes: Count = 0
    largest_bytes: Count = 0


class CommunicationPattern(Record):
    """What the ranks of a workload say to each other in one step, as far as that can be told.

    declared   the needs of the strategies that `parallel` states, in `ranks` ranks
    observed   what one rank of it called when it ran
    `reason` says why it is none or undetermined, and what the figures leave out.
    """

    status: Literal["none", "determined", "undetermined"]
    classes: tuple[PatternClass, ...] = ()
    source: Literal["declared", "observed", ""] = ""
    ranks: Number = 1
    collectives: tuple[CollectiveNeed, ...] = ()
    calls: Count = 0
    bytes: Count = 0
    smallest_bytes: Count = 0
    largest_bytes: Count = 0
    reason: str = ""


class StrategyNeeds(Record):
    """One strategy of one workload in a world of so many ranks.

    counted         PyTorch's own implementation, on a process group that answers at once
    estimated       calls we place where the strategy needs them; `detail` says how
    not applicable  nothing for it to do in this model
    failed          PyTorch could not set it up for this model
    """

    workload: str
    strategy: Strategy
    world: Number
    status: Literal["counted", "estimated", "not applicable", "failed"]
    detail: str = ""
    needs: tuple[CollectiveNeed, ...] = ()


class CollectiveGap(Record):
    """A need of strategies that the backend does not meet, or that was not tried."""

    primitive: str
    dtype: str
    reduce_op: str = ""
    status: Literal["gap", "wrong", "crash", "untested"]
    strategies: tuple[str, ...]
    workloads: tuple[str, ...]
    detail: str = ""


class Communication(Record):
    """The probe of the backend, the needs of the workloads, and the gaps between the two."""

    probe: CollectiveProbe | None = None
    strategies: tuple[StrategyNeeds, ...] = ()
    gaps: tuple[CollectiveGap, ...] = ()
