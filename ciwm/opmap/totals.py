"""A map in figures that add up: what each counts is said where it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.opmap.communication import RUN
from ciwm.records.opmap_diff import MapTotals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.records import WorkloadMap
    from ciwm.records.opmap import OpSupport
    from ciwm.records.opmap_compile import WorkloadCompile


def totals(found: WorkloadMap) -> MapTotals:
    """A map in figures."""
    mapped = {one.id for one in found.workloads}
    known = mapped | {one.workload for one in found.workloads}
    left = {problem.workload for problem in found.problems} - known - {""}
    uses = [use for use in found.ops if not use.structural]
    return MapTotals(
        workloads=len(mapped) + len(left),
        observed=len(mapped & _observed(found)),
        kernels=len({use.op for use in uses}),
        structural=len({use.op for use in found.ops if use.structural}),
        calls=sum(use.count for use in uses),
        classes=_classes(one for one in found.supports if one.calls),
        composites=_classes(one for one in found.supports if not one.calls),
        to_write=sum(len(entry.kernels) for entry in found.queue),
        problems=len(found.problems),
    )


def _observed(found: WorkloadMap) -> set[str]:
    """Workloads of which some stage saw something."""
    parts = (found.ops, found.coverage, found.fallbacks)
    seen = {one.workload for part in parts for one in part}
    seen |= {one.workload for one in found.compile_paths if _compiles(one)}
    if found.correctness is not None:
        seen |= {one.workload for one in found.correctness.workloads}
    if found.communication is not None:
        seen |= {one.workload for one in found.communication.strategies if one.status in RUN}
    return seen | {one.id for one in found.workloads if one.intensity is not None}


def _compiles(one: WorkloadCompile) -> bool:
    """Whether some compiler took it, as far as it went; all fail where the workload itself does."""
    tried = [part.status for part in (one.graphs, one.inductor, one.export) if part is not None]
    told = [each.status for each in one.importers]
    return "done" in tried or not {"imported", "unsupported"}.isdisjoint(told)


def _classes(supports: Iterable[OpSupport]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in supports:
        found[one.support] = found.get(one.support, 0) + 1
    return found
