"""Compile paths of workloads, from what the observer said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ciwm.records.base import Record
from ciwm.records.opmap_compile import (
    ExportPath,
    Graphs,
    ImporterPath,
    InductorNodes,
    WorkloadCompile,
)
from ciwm.records.opmap_diff import MapChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.opmap.observe import Observed
    from ciwm.records import WorkloadMap


def workload_compile(workload: str, observed: Observed) -> WorkloadCompile | None:
    """One workload's paths; None when none was tried."""
    lines = {line["kind"]: line for line in observed.lines if "kind" in line}
    if not lines:
        return None
    return WorkloadCompile(
        workload=workload,
        graphs=_made(Graphs, lines.get("graphs")),
        inductor=_made(InductorNodes, lines.get("inductor")),
        export=_made(ExportPath, lines.get("export")),
        importers=tuple(
            ImporterPath.model_validate(_fields(line))
            for line in sorted(observed.lines, key=lambda line: str(line.get("stack", "")))
            if line.get("kind") == "importer"
        ),
    )


MadeT = TypeVar("MadeT", bound=Record)


def _made(kind: type[MadeT], line: dict[str, Any] | None) -> MadeT | None:
    return None if line is None else kind.model_validate(_fields(line))


def _fields(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "kind"}


def compile_changes(base: WorkloadMap, head: WorkloadMap) -> Iterator[MapChange]:
    """Graph breaks, paths that failed or work again, operators a stack lost, by workload."""
    before = {one.workload: one for one in base.compile_paths}
    for one in head.compile_paths:
        if one.workload in before:
            yield from _breaks(before[one.workload], one)
            yield from _paths(before[one.workload], one)
            yield from _importers(before[one.workload], one)


def _breaks(before: WorkloadCompile, after: WorkloadCompile) -> Iterator[MapChange]:
    """Breaks by their reason and function: lines move with every edit."""
    if before.graphs is None or after.graphs is None or before.graphs.status == "failed":
        return
    old = {(one.reason, one.where.rpartition(" in ")[2]): one for one in before.graphs.breaks}
    new = {(one.reason, one.where.rpartition(" in ")[2]): one for one in after.graphs.breaks}
    for key in new.keys() - old.keys():
        told = f"{after.workload}: a graph breaks at {new[key].where or 'a place not known'}: "
        yield _change("graph break new", after.workload, told + new[key].reason, lost=True)
    for key in old.keys() - new.keys():
        told = f"{after.workload}: the graph no longer breaks at {old[key].where}: "
        yield _change("graph break gone", after.workload, told + old[key].reason, lost=False)


def _paths(before: WorkloadCompile, after: WorkloadCompile) -> Iterator[MapChange]:
    pairs = (
        ("TorchDynamo", before.graphs, after.graphs),
        ("Inductor", before.inductor, after.inductor),
        ("torch.export", before.export, after.export),
    )
    for name, old, new in pairs:
        if old is None or new is None or old.status == new.status:
            continue
        lost = new.status == "failed"
        told = f"{after.workload}: {name} " + (f"fails: {new.detail}" if lost else "works again")
        kind = "graph break new" if lost else "graph break gone"
        yield _change(kind, after.workload, told, lost=lost)


def _importers(before: WorkloadCompile, after: WorkloadCompile) -> Iterator[MapChange]:
    """A stack that is there on one side only says nothing."""
    known = {one.stack: one for one in before.importers}
    for one in after.importers:
        old = known.get(one.stack)
        said = ("imported", "unsupported", "failed")
        if old is None or old.status not in said or one.status not in said:
            continue
        lacking = sorted(set(one.unsupported) - set(old.unsupported))
        if lacking:
            told = f"{after.workload}: {one.stack} newly lacks {', '.join(lacking)}"
            yield _change("graph break new", after.workload, told, lost=True)
        elif old.status == "imported" and one.status == "failed":
            told = f"{after.workload}: {one.stack} no longer imports it: {one.detail}"
            yield _change("graph break new", after.workload, told, lost=True)
        elif one.status == "imported" and old.status != "imported":
            told = f"{after.workload}: {one.stack} imports it now"
            yield _change("graph break gone", after.workload, told, lost=False)


def _change(kind: str, workload: str, sentence: str, *, lost: bool) -> MapChange:
    return MapChange.model_validate(
        {
            "kind": kind,
            "subject": workload,
            "workloads": (workload,),
            "sentence": sentence,
            "lost": lost,
        }
    )
