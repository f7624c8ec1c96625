"""The series of a workload: its matrix of parameters, and its metrics in stated units."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from ciwm.errors import ConfigError
from ciwm.launch.collectives import check_sizes
from ciwm.launch.launcher import launcher_words
from ciwm.records import Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ciwm.config import GateConfig, Scalar, WorkloadConfig

STEP_TIME = "step_time"  # the metric the worker itself measures
SECONDS_IN = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "ns": 1e9}
BYTES_IN = {
    "B": 1.0,
    "kB": 1e-3,
    "MB": 1e-6,
    "GB": 1e-9,
    "KiB": 2.0**-10,
    "MiB": 2.0**-20,
    "GiB": 2.0**-30,
}
# what the worker measures once a launch where it is declared, and the units it may be in
FIRST_STEP, COMPILE = "first_step_time", "compile_time"
ONCE = {
    FIRST_STEP: SECONDS_IN,
    COMPILE: SECONDS_IN,
    "peak_device_memory": BYTES_IN,
    "peak_rss": BYTES_IN,
}
LOAD_IMBALANCE = "load_imbalance"
# metrics that ciwm makes of the times of all ranks: their unit, and which direction is better
DERIVED = {
    LOAD_IMBALANCE: ("%", "lower"),
    "algbw": ("GB/s", "higher"),
    "busbw": ("GB/s", "higher"),
}
PLACEHOLDERS = ("out", "build", "python", "workloads")


@dataclass(frozen=True)
class Case:
    """One point of the matrix: the name its samples carry, and its parameters.

    `benchmark` is what another tool calls it, where a command runs several of that tool's.
    """

    series: str
    params: Mapping[str, Scalar]
    benchmark: str = ""


def cases(workload: WorkloadConfig) -> tuple[Case, ...]:
    """Every series of a workload: the points of its matrix, and the benchmarks of each."""
    if not workload.benchmarks:
        return points(workload)
    _refuse_twice(f"workload {workload.id}: benchmarks", list(workload.benchmarks))
    return tuple(
        Case(f"{point.series}/{name}", point.params, name)
        for point in points(workload)
        for name in workload.benchmarks
    )


def points(workload: WorkloadConfig) -> tuple[Case, ...]:
    """All combinations of the parameters, the last one varying fastest; raises ConfigError."""
    names = list(workload.matrix)
    empty = [name for name in names if not workload.matrix[name]]
    if empty:
        raise ConfigError(f"workload {workload.id}: params.{empty[0]} has no value")
    points = (
        dict(zip(names, values, strict=True)) for values in product(*workload.matrix.values())
    )
    made = [Case(_name(workload.id, params), params) for params in points]
    _refuse_twice(workload.id, [case.series for case in made])
    return tuple(made)


def family(workloads: Iterable[WorkloadConfig], gate: GateConfig) -> tuple[Series, ...]:
    """Every series and metric that will be judged; raises ConfigError for what cannot be run."""
    found: list[Series] = []
    for workload in workloads:
        check_workload(workload)
        found += declared(workload, gate)
    _refuse_twice("two workloads", [f"{one.series} {one.metric}" for one in found])
    return tuple(found)


def declared(workload: WorkloadConfig, gate: GateConfig) -> list[Series]:
    """Every series and metric that a workload declares, whether or not it could be run."""
    return [
        Series(
            series=case.series,
            metric=name,
            workload=workload.id,
            unit=metric.unit,
            better=metric.better,
            threshold_pct=metric.threshold_pct or gate.threshold_pct,
            threshold_abs=metric.threshold_abs,
        )
        for case in cases(workload)
        for name, metric in workload.declared_metrics.items()
    ]


def check_workload(workload: WorkloadConfig) -> None:
    """Raise ConfigError, with what to write instead, for a workload that cannot be launched."""
    texts = [workload.command, *(value for values in workload.params.values() for value in values)]
    if any("\0" in text for text in texts if isinstance(text, str)):
        raise ConfigError(f"workload {workload.id}: a command or parameter holds a NUL character")
    launcher_words(workload)
    if workload.command is not None:
        _check_placeholders(workload)
        return
    _check_measured(workload)
    _check_batch(workload)
    _check_made(workload)
    check_sizes(workload)


def names_parameters(workload: WorkloadConfig) -> bool:
    """Whether a command takes its parameters by placeholder, and so is run once a case."""
    used = set(re.findall(r"\{(\w+)\}", workload.command or ""))
    return bool(workload.params) and used >= workload.params.keys()


def _check_measured(workload: WorkloadConfig) -> None:
    """The metrics that the worker itself measures have units it knows, and less is better."""
    for name, units in ((STEP_TIME, SECONDS_IN), *ONCE.items()):
        metric = workload.declared_metrics.get(name)
        if metric is None:
            continue
        where = f"workload {workload.id}: metrics.{name}"
        if metric.unit not in units:
            raise ConfigError(f"{where}.unit is {metric.unit!r}", f"one of {', '.join(units)}")
        if metric.better != "lower":
            what = "a time" if units is SECONDS_IN else "memory used"
            raise ConfigError(f"{where}.better is higher: it is {what}", 'better = "lower"')


def _check_batch(workload: WorkloadConfig) -> None:
    """What the step reports itself, and a cold cache, do not go with several calls a sample."""
    if (workload.batch or 1) == 1:
        return
    kept = {STEP_TIME, *ONCE, *made_of_times(workload)}
    own = next((name for name in workload.declared_metrics if name not in kept), None)
    if own is not None or workload.flush_cache:
        why = (
            f"metrics.{own} is reported by each call" if own else "flush_cache is before each call"
        )
        raise ConfigError(f"workload {workload.id}: batch = {workload.batch}: {why}", "batch = 1")


def once_scales(workload: WorkloadConfig) -> dict[str, float]:
    """Of the metrics that are measured once a launch, what turns seconds or bytes into units."""
    declared = workload.declared_metrics
    return {name: units[declared[name].unit] for name, units in ONCE.items() if name in declared}


def made_of_times(workload: WorkloadConfig) -> tuple[str, ...]:
    """The declared metrics that ciwm makes of the times of all ranks; a step reports the others."""
    names = DERIVED if workload.collective is not None else (LOAD_IMBALANCE,)
    return tuple(name for name in workload.declared_metrics if workload.ranks > 1 and name in names)


def _check_made(workload: WorkloadConfig) -> None:
    made = made_of_times(workload)
    for name, metric in workload.declared_metrics.items():
        where = f"workload {workload.id}: metrics.{name}"
        if name in made and (metric.unit, metric.better) != DERIVED[name]:
            unit, better = DERIVED[name]
            raise ConfigError(
                f"{where} is {metric.unit!r}, {metric.better} is better",
                f'ciwm makes it of times: unit = "{unit}", better = "{better}"',
            )
        if workload.collective is not None and name not in (STEP_TIME, *ONCE, *made):
            known = ", ".join((STEP_TIME, *DERIVED, *ONCE))
            raise ConfigError(f"{where}: a collective has only {known}")


def _check_placeholders(workload: WorkloadConfig) -> None:
    command = workload.command or ""
    where = f"workload {workload.id}"
    if "{out}" not in command:
        raise ConfigError(
            f"{where}: the command has no {{out}}, the file it writes its results to",
            f"command = {json.dumps(command + ' --json {out}')}, say",
        )
    reserved = [name for name in workload.params if name in PLACEHOLDERS]
    if reserved:
        raise ConfigError(f"{where}: params.{reserved[0]} has the name of a placeholder")
    used = [name for name in workload.params if f"{{{name}}}" in command]
    missing = [name for name in workload.params if name not in used]
    if used and missing:
        raise ConfigError(
            f"{where}: the command uses {{{used[0]}}} but not {{{missing[0]}}}",
            "use a placeholder for every parameter, or for none and report every series by name",
        )


def _name(workload: str, params: Mapping[str, Scalar]) -> str:
    if not params:
        return workload
    return workload + "/" + ",".join(f"{name}={_text(value)}" for name, value in params.items())


def _text(value: Scalar) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _refuse_twice(where: str, names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"{where}: the same series twice: {twice[0]}", "give it one value only")
