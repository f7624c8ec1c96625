"""Making a map: the stages in order, each on every subject, what fails written down and passed."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ciwm import __version__
from ciwm.errors import ConfigError
from ciwm.opmap.coverage import Coverage, covered
from ciwm.opmap.making import Making
from ciwm.opmap.manifests import native_ops
from ciwm.opmap.observe import Observed
from ciwm.opmap.on_device import device_parts
from ciwm.opmap.pattern import pattern
from ciwm.opmap.seen import said
from ciwm.opmap.subjects import declared_workloads, subjects
from ciwm.opmap.suggest import suggestions
from ciwm.opmap.taxonomy import intensity, memory, undeclared
from ciwm.opmap.verified import with_verified
from ciwm.records.opmap import (
    MappedWorkload,
    MapProblem,
    WorkloadMap,
)
from ciwm.records.opmap_provenance import Provenance

if TYPE_CHECKING:
    from ciwm.opmap.making import MapRequest
    from ciwm.opmap.subjects import Subject
    from ciwm.records.opmap_communication import Communication, StrategyNeeds


INTERPRETER_STAGES = frozenset({"correctness", "communication"})  # which ask the device, too
WRONG = 1e-2  # between the null device and the CPU, which compute alike but for the order


def make_map(request: MapRequest) -> WorkloadMap:
    """Run every stage that was asked for; what failed is in the map's problems."""
    found, left = subjects(request.config, request.only)
    if not found and not left and not INTERPRETER_STAGES.issuperset(request.stages):
        raise ConfigError(
            "no workload is declared, so there is nothing to map",
            "add one to ciwm.toml: [[map.workload]] with id, phase and model = 'file.py:build' "
            "(docs/map.md)",
        )
    making = Making(request, found)
    making.problems += [
        MapProblem(stage="census", workload=name, reason="invalid", detail=why)
        for name, why in left.items()
    ]
    if "census" in request.stages or "queue" in request.stages:
        making.run("census", "census")
    if "intensity" in request.stages:
        making.run("intensity", "intensity")
    if "ghost" in request.stages and request.manifest is not None:
        making.run("ghost", "ghost", {"native": native_ops(request.manifest)})
    on_device = device_parts(making)
    coverage = Coverage()
    if making.ops("census") or making.ops("ghost"):
        coverage = covered(making, on_device.get("fallbacks", ()))
        coverage = _verified(making, coverage, on_device)
    return _written(making, coverage, on_device)


def _verified(making: Making, coverage: Coverage, on_device: dict[str, Any]) -> Coverage:
    torch = _software(making).torch
    seen = [*making.ops("ghost").values(), *making.ops("census").values()]
    manifest = making.request.manifest
    return with_verified(coverage, on_device.get("correctness"), manifest, torch, seen)


def _written(making: Making, coverage: Coverage, on_device: dict[str, Any]) -> WorkloadMap:
    request = making.request
    uses = [use for each in making.ops("census").values() for use in each.uses]
    declared = declared_workloads(request.config)
    workloads = tuple(_workload(one, making, _strategies(on_device)) for one in making.subjects)
    return WorkloadMap(
        provenance=_provenance(making),
        stages=request.stages,
        workloads=workloads,
        ops=tuple(uses),
        composites=coverage.composites,
        supports=coverage.supports,
        kernel_supports=coverage.kernel_supports,
        coverage=coverage.coverage,
        queue=coverage.queue,
        blocked=coverage.blocked,
        **on_device,
        suggestions=suggestions(declared) if request.suggest else (),
        problems=tuple(making.problems),
        warnings=(*making.warnings, *undeclared(workloads, request.config.map.device)),
    )


def _provenance(making: Making) -> Provenance:
    request = making.request
    software = _software(making)
    observed = (each for stage in making.seen.values() for each in stage.values())
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


def _software(making: Making) -> Observed:
    """Any observer that told which torch it ran under."""
    observed = (each for stage in making.seen.values() for each in stage.values())
    return next((each for each in observed if each.torch), Observed())


def _strategies(on_device: dict[str, Any]) -> tuple[StrategyNeeds, ...]:
    found: Communication | None = on_device.get("communication")
    return () if found is None else found.strategies


def _why_not(making: Making, subject: Subject) -> str:
    observed = making.seen.get("communication", {}).get(subject.id, Observed())
    return observed.problem.detail if observed.problem is not None else ""


def _off(difference: float) -> str:
    if difference == sys.float_info.max:
        return "infinite or no number where the CPU's is one, or the other way round"
    return f"{difference:.2g} off the CPU's"


def _workload(
    subject: Subject, making: Making, strategies: tuple[StrategyNeeds, ...]
) -> MappedWorkload:
    census = making.seen.get("census", {}).get(subject.id, Observed())
    counted = making.seen.get("intensity", {}).get(subject.id, Observed())
    device = making.request.config.map.device
    apart = said(census, "difference")
    notes = [line["note"] for each in (census, counted) for line in said(each, "note")]
    difference = apart[0]["max_abs_diff"] if apart else None
    if difference is not None and difference > WRONG:
        notes.append(f"its result is {_off(difference)}: its kernels may be others too")
    return MappedWorkload(
        id=subject.id,
        workload=subject.workload,
        phase=subject.phase,
        entry=subject.entry,
        params=dict(subject.params),
        devices=subject.devices,
        intensity=intensity(counted, device),
        memory=memory(counted, device, subject.devices),
        communication=pattern(subject, strategies, _why_not(making, subject)),
        max_abs_diff=difference,
        notes=tuple(notes),
    )
