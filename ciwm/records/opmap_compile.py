"""Compile paths of a workload: how far each compiler gets, and what stops it."""

from __future__ import annotations

from typing import Literal

from ciwm.records.amounts import Count
from ciwm.records.base import Record

PathStatus = Literal["done", "failed"]
ImporterStatus = Literal["not installed", "broken", "imported", "unsupported", "failed"]


class GraphBreak(Record):
    """Why and where TorchDynamo ends a graph, and how often."""

    reason: str
    where: str = ""
    count: Count


class Graphs(Record):
    """The forward pass under TorchDynamo."""

    status: PathStatus
    detail: str = ""
    graphs: Count = 0
    breaks: tuple[GraphBreak, ...] = ()


class InductorNodes(Record):
    """Operations of the lowered graphs: generated code, library calls, fallbacks to eager kernels.

    `device` is what they were lowered for: the CPU where the workload's device has no `codegen`.
    """

    status: PathStatus
    detail: str = ""
    device: str = ""
    codegen: bool = False
    graphs: Count = 0
    generated: Count = 0
    extern: dict[str, Count] = {}
    fallback: dict[str, Count] = {}


class ExportPath(Record):
    """torch.export with decomposition to core aten: nodes, operators, and those not of the core."""

    status: PathStatus
    detail: str = ""
    nodes: Count = 0
    operators: Count = 0
    not_core: tuple[str, ...] = ()


class ImporterPath(Record):
    """What another stack's importer says; `broken` is installed and does not import."""

    stack: str
    status: ImporterStatus
    version: str = ""
    unsupported: tuple[str, ...] = ()
    detail: str = ""


class WorkloadCompile(Record):
    """All paths of one workload."""

    workload: str
    graphs: Graphs | None = None
    inductor: InductorNodes | None = None
    export: ExportPath | None = None
    importers: tuple[ImporterPath, ...] = ()
