"""Making a map: the stages in order, each on every subject, what fails written down and passed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm import __version__
from ciwm.opmap.coverage import Coverage, covered
from ciwm.opmap.making import Making
from ciwm.opmap.manifests import native_ops
from ciwm.opmap.observe import Observed, observe
from ciwm.opmap.seen import said
from ciwm.opmap.subjects import INTERPRETER, declared_workloads, subjects
from ciwm.opmap.suggest import suggestions
from ciwm.opmap.taxonomy import intensity, memory
from ciwm.records.opmap import (
    MappedWorkload,
    MapProblem,
    MapStage,
    Provenance,
    WorkloadMap,
)

if TYPE_CHECKING:
    from ciwm.opmap.making import MapRequest
    from ciwm.opmap.subjects import Subject

BUILD_TIMEOUT_S = 600.0
ON_NULL: tuple[MapStage, ...] = ("census", "ghost", "queue")


def make_map(request: MapRequest) -> WorkloadMap:
    """Run every stage that was asked for; what failed is in the map's problems."""
    found, left = subjects(request.config, request.only)
    making = Making(request, found)
    making.problems += [
        MapProblem(stage="census", workload=name, reason="invalid", detail=why)
        for name, why in left.items()
    ]
    if any(stage in request.stages for stage in ON_NULL):
        _build(making)
    if "census" in request.stages or "queue" in request.stages:
        making.run("census", "census", {"library": making.library})
    if "intensity" in request.stages:
        making.run("intensity", "intensity")
    if "ghost" in request.stages and request.manifest is not None:
        native = native_ops(request.manifest)
        making.run("ghost", "ghost", {"library": making.library, "native": native})
    coverage = covered(making) if making.ops("census") or making.ops("ghost") else Coverage()
    return _written(making, coverage)


def _build(making: Making) -> None:
    """The null device's library; without one the device in Python stands in, and says so."""
    site = replace(making.request.site, timeout_s=BUILD_TIMEOUT_S)
    seen = observe("build", INTERPRETER, site)
    if seen.problem is None and seen.lines:
        making.library = str(seen.lines[0]["library"])
        return
    why = seen.problem.detail if seen.problem else "the worker said nothing"
    making.warnings.append(f"the null device runs in Python, which sees less: {why}")


def _written(making: Making, coverage: Coverage) -> WorkloadMap:
    request = making.request
    uses = [use for each in making.ops("census").values() for use in each.uses]
    declared = declared_workloads(request.config)
    return WorkloadMap(
        provenance=_provenance(making),
        stages=request.stages,
        workloads=tuple(_workload(one, making) for one in making.subjects),
        ops=tuple(uses),
        composites=coverage.composites,
        supports=coverage.supports,
        coverage=coverage.coverage,
        queue=coverage.queue,
        blocked=coverage.blocked,
        suggestions=suggestions(declared) if request.suggest else (),
        problems=tuple(making.problems),
        warnings=tuple(making.warnings),
    )


def _provenance(making: Making) -> Provenance:
    request = making.request
    observed = [each for stage in making.seen.values() for each in stage.values()]
    software = next((each for each in observed if each.torch), Observed())
    capture = next((line for each in observed for line in said(each, "capture")), {})
    return Provenance(
        generated_at=datetime.now(timezone.utc),
        ciwm_version=__version__,
        torch=software.torch,
        torch_build=software.torch_build,
        interpreter=software.interpreter,
        repository=request.repository,
        revision=request.revision,
        target=request.manifest.name if request.manifest else None,
        capture=capture.get("capture", ""),
        limits=tuple(capture.get("limits", ())),
        licence=request.config.map.licence,
    )


def _workload(subject: Subject, making: Making) -> MappedWorkload:
    census = making.seen.get("census", {}).get(subject.id, Observed())
    counted = making.seen.get("intensity", {}).get(subject.id, Observed())
    device = making.request.config.map.device
    apart = said(census, "difference")
    notes = [line["note"] for each in (census, counted) for line in said(each, "note")]
    return MappedWorkload(
        id=subject.id,
        workload=subject.workload,
        phase=subject.phase,
        entry=subject.entry,
        params=dict(subject.params),
        devices=subject.devices,
        intensity=intensity(counted, device),
        memory=memory(counted, device, subject.devices),
        max_abs_diff=apart[0]["max_abs_diff"] if apart else None,
        notes=tuple(notes),
    )
