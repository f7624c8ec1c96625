"""MapDiff: what changed between two maps, what of it is a loss, and what of that blocks."""

from __future__ import annotations

from typing import Literal

from ciwm.records.amounts import Count
from ciwm.records.base import Record, RecordFile
from ciwm.records.opmap_provenance import Provenance

ChangeKind = Literal[
    "workload lost",
    "workload new",
    "workload observed again",
    "kernel needed",
    "kernel no longer needed",
    "class worse",
    "class better",
    "fallback new",
    "fallback gone",
    "fallback budget",
    "graph break new",
    "graph break gone",
    "collective new",
    "collective gone",
    "correctness worse",
    "correctness better",
    "bound",
    "memory",
    "communication",
    "queue",
]


class MapChange(Record):
    """One change. `lost` says that head has less than base; `counts_as` what [gate] calls it.

    The sentence of a new fallback begins with its operator: what it is called is put before.
    """

    kind: ChangeKind
    subject: str
    workloads: tuple[str, ...] = ()
    base: str = ""
    head: str = ""
    sentence: str
    lost: bool = False
    counts_as: Literal["coverage", "correctness"] = "coverage"
    blocks: bool = False


class MapTotals(Record):
    """A map in figures.

    workloads   declared ones, at each point of their parameters; observed: that some stage saw
    kernels     distinct ones that the census says a device without any must bring, and their calls;
                structural ones (allocation, copies, views) are beside them
    classes     of the operators that the target is asked for by its own names, which are others:
                it may have fused and batched ones
    composites  classes of what the dispatcher took apart into those
    to_write    kernels in the queue
    """

    workloads: Count
    observed: Count
    kernels: Count
    calls: Count
    structural: Count = 0
    classes: dict[str, Count] = {}
    composites: dict[str, Count] = {}
    to_write: Count
    problems: Count


class MapDiff(RecordFile):
    """From base to head; `blocks` when a change does, by base's policy.

    `since` names the upstream commit that head brought in, where it brought one. `void` says which
    part was not compared, as the two maps are of different targets; empty where all was.
    """

    base: Provenance
    head: Provenance
    base_totals: MapTotals
    head_totals: MapTotals
    changes: tuple[MapChange, ...] = ()
    blocks: bool = False
    reason: str = ""
    void: str = ""
    since: str = ""
    warnings: tuple[str, ...] = ()
