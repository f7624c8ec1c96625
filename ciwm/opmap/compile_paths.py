"""Compile paths of workloads, from what the observer said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ciwm.records.base import Record
from ciwm.records.opmap_compile import (
    ExportPath,
    GraphBreak,
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
    """Breaks by their reason and function, with their counts: lines move with every edit."""
    if before.graphs is None or after.graphs is None or before.graphs.status == "failed":
        return
    if after.graphs.status == "failed":
        return  # which is told as that, and not as breaks that went
    old, new = _by_place(before.graphs), _by_place(after.graphs)
    for key in sorted(old.keys() | new.keys()):
        was, now = (sum(one.count for one in side.get(key, ())) for side in (old, new))
        where = (new.get(key) or old[key])[0].where or "a place not known"
        if now > was:
            often = f", {now} times instead of {was}" if was else ""
            told = f"{after.workload}: a graph breaks at {where}{often}: {key[0]}"
            yield _change("graph break new", after.workload, told, lost=True)
        elif now < was:
            often = f" {was} times, but {now}" if now else ""
            told = f"{after.workload}: the graph no longer breaks at {where}{often}: {key[0]}"
            yield _change("graph break gone", after.workload, told, lost=False)


def _by_place(found: Graphs) -> dict[tuple[str, str], list[GraphBreak]]:
    places: dict[tuple[str, str], list[GraphBreak]] = {}
    for one in found.breaks:
        places.setdefault((one.reason, one.where.rpartition(" in ")[2]), []).append(one)
    return places


def _paths(before: WorkloadCompile, after: WorkloadCompile) -> Iterator[MapChange]:
    yield from _eager(before, after)
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


def _eager(before: WorkloadCompile, after: WorkloadCompile) -> Iterator[MapChange]:
    """What Inductor newly leaves to eager kernels: slower, and no loss of what runs."""
    old, new = before.inductor, after.inductor
    if old is None or new is None or "failed" in (old.status, new.status):
        return
    left = sorted(new.fallback.keys() - old.fallback.keys())
    taken = sorted(old.fallback.keys() - new.fallback.keys())
    if left and old.device == new.device:
        told = f"{after.workload}: Inductor newly leaves to eager kernels: {', '.join(left)}"
        yield _change("graph break new", after.workload, told, lost=False)
    if taken and old.device == new.device:
        told = f"{after.workload}: Inductor no longer leaves to eager kernels: {', '.join(taken)}"
        yield _change("graph break gone", after.workload, told, lost=False)


def _importers(before: WorkloadCompile, after: WorkloadCompile) -> Iterator[MapChange]:
    """A stack that is there on one side only says nothing."""
    known = {one.stack: one for one in before.importers}
    for one in after.importers:
        old = known.get(one.stack)
        said = ("imported", "unsupported", "failed")
        if old is None or old.status not in said or one.status not in (*said, "broken"):
            continue
        lacking = sorted(set(one.unsupported) - set(old.unsupported))
        if lacking and old.status != "failed":  # which lacked nobody knows what
            told = f"{after.workload}: {one.stack} newly lacks {', '.join(lacking)}"
            yield _change("graph break new", after.workload, told, lost=True)
        elif old.status == "imported" and one.status in ("failed", "broken"):
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
