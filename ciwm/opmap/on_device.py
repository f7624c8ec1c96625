"""The stages that run workloads for real: fallback, correctness, communication, compile paths."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ciwm.opmap.communication import communication, probe_of, strategies_of
from ciwm.opmap.compile_paths import workload_compile
from ciwm.opmap.correctness import joined, sweep_of, workload_correctness
from ciwm.opmap.fallback import workload_fallbacks
from ciwm.opmap.observe import observe
from ciwm.opmap.subjects import INTERPRETER
from ciwm.records.opmap import MapProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.opmap.making import Making
    from ciwm.opmap.observe import Observed
    from ciwm.records.opmap import MapStage

EVERY_OPERATOR = ("*",)


def device_parts(making: Making) -> dict[str, Any]:
    """The parts of the map that these stages fill, by field; a problem is kept in `making`."""
    wanted = making.request.stages
    found: dict[str, Any] = {}
    parts: tuple[tuple[MapStage, Callable[[Making], dict[str, Any]]], ...] = (
        ("fallback", _fallback),
        ("correctness", _correctness),
        ("communication", _communication),
        ("compile", _compile),
    )
    for stage, part in parts:
        if stage in wanted and not making.request.site.stop.is_set():
            found.update(part(making))
    return found


def _options(making: Making) -> dict[str, Any]:
    on = making.request.config.map.on_device
    return {"device": on.device, "imports": list(on.imports)}


def _fallback(making: Making) -> dict[str, Any]:
    seen = making.run("fallback", "fallback", _options(making))
    found = (workload_fallbacks(name, each) for name, each in seen.items())
    return {"fallbacks": tuple(one for one in found if one is not None)}


def _correctness(making: Making) -> dict[str, Any]:
    """The sweep once, then every workload; both against the CPU of the same interpreter."""
    on = making.request.config.map.on_device
    common = {**_options(making), "operator_timeout_s": on.operator_timeout_s}
    sweeping = {**common, "dtypes": list(on.dtypes), "samples": on.samples}
    if on.operators != EVERY_OPERATOR:
        sweeping["operators"] = list(on.operators)
    making.request.say("correctness: the operator sweep")
    swept = _alone(making, "correctness", "sweep", sweeping, on.sweep_timeout_s)
    making.warnings += [
        f"[map.on_device] operators: this torch has none called {pattern}"
        for line in swept.lines
        for pattern in line.get("unmatched", ())
    ]
    seen = making.run("correctness", "correctness", common)
    checked = (workload_correctness(name, each) for name, each in seen.items())
    workloads = [one for one in checked if one is not None]
    return {"correctness": joined(sweep_of(swept), workloads)}


def _communication(making: Making) -> dict[str, Any]:
    making.request.say("communication: the probe of the backend")
    timeout_s = making.request.site.timeout_s
    probed = _alone(making, "communication", "probe", _options(making), timeout_s)
    worlds = list(making.request.config.map.on_device.worlds)
    seen = making.run("communication", "communication", {"worlds": worlds})
    strategies = [one for name, each in seen.items() for one in strategies_of(name, each)]
    return {"communication": communication(probe_of(probed), strategies)}


def _compile(making: Making) -> dict[str, Any]:
    seen = making.run("compile", "compile", _options(making))
    found = (workload_compile(name, each) for name, each in seen.items())
    return {"compile_paths": tuple(one for one in found if one is not None)}


def _alone(
    making: Making, stage: MapStage, name: str, options: dict[str, Any], timeout_s: float
) -> Observed:
    """Observe the interpreter itself, and keep its problem under the stage's name."""
    site = replace(making.request.site, timeout_s=timeout_s)
    seen = observe(name, INTERPRETER, site, options)
    if seen.problem is not None:
        detail = f"{name}: {seen.problem.detail}"
        update = {"stage": stage, "detail": detail}
        making.problems.append(MapProblem.model_validate({**seen.problem.model_dump(), **update}))
    return seen
