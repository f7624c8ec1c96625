"""Collectives: what the strategies of the workloads call, and what the installed backend has."""

from __future__ import annotations

from typing import Literal

from ciwm.records.base import Record

CellStatus = Literal["ok", "gap", "wrong", "crash"]
Strategy = Literal["ddp", "fsdp2", "tp", "pp", "ep"]


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
    ranks: int
    cells: tuple[CollectiveCell, ...] = ()


class CollectiveNeed(Record):
    """What one step calls: bytes are of whole arrays (an all-gather's result), all calls together.

    `group` is the number of ranks that take part.
    """

    primitive: str
    dtype: str
    reduce_op: str = ""
    group: int
    calls: int
    bytes: int


class StrategyNeeds(Record):
    """One strategy of one workload in a world of so many ranks.

    counted         PyTorch's own implementation, on a process group that answers at once
    estimated       calls we place where the strategy needs them; `detail` says how
    not applicable  nothing for it to do in this model
    failed          PyTorch could not set it up for this model
    """

    workload: str
    strategy: Strategy
    world: int
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
