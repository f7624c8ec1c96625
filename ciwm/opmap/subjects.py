"""What is observed: every declared workload at each point of its parameters."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ciwm.config import WorkloadConfig
from ciwm.errors import ConfigError
from ciwm.launch.series import cases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.config import Config, Scalar

NOT_PYTHON = "a command: what it runs cannot be observed; give it model = 'file.py:build'"


@dataclass(frozen=True)
class Subject:
    """One workload at one point of its parameters; `file` is relative to the repository's root.

    A subject without a file stands for the interpreter itself (a manifest, a build).
    """

    id: str
    workload: str = ""
    entry: Literal["model", "step"] = "model"
    file: str = ""
    callable: str = ""
    phase: str | None = None
    params: Mapping[str, Scalar] = field(default_factory=dict)
    devices: int = 1
    parallel: tuple[str, ...] = ()


INTERPRETER = Subject(id="")


def subjects(config: Config, only: tuple[str, ...] = ()) -> tuple[list[Subject], dict[str, str]]:
    """The subjects of a configuration, and why other workloads have none, by workload.

    `only` names workloads. Raises ConfigError for one that is not declared.
    """
    declared = declared_workloads(config)
    known = {workload.id for workload in declared}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ConfigError(
            f"there is no workload {unknown[0]}", f"declared are: {', '.join(sorted(known))}"
        )
    found: list[Subject] = []
    left: dict[str, str] = {}
    for workload in declared:
        if only and workload.id not in only:
            continue
        if workload.model is None and workload.python is None:
            left[workload.id] = NOT_PYTHON
            continue
        points, most = cases(workload), config.map.cases
        found += [_subject(workload, case.series, case.params) for case in points[:most]]
        if len(points) > most:
            many = f"{len(points)} points of its parameters"
            left[workload.id] = f"{many}, the first {most} are mapped ([map] cases)"
    return found, left


def entry_file(workload: WorkloadConfig) -> str | None:
    """The file that the map loads for a workload, from the repository's root; None for a command.

    Raises ConfigError for one outside the repository.
    """
    stated = workload.model or workload.python
    if stated is None:
        return None
    file = posixpath.normpath(stated.rpartition(":")[0])
    if file.startswith(("/", "../")):
        raise ConfigError(
            f"workload {workload.id}: {stated!r} is outside the repository",
            "give the path from the repository's root",
        )
    return file


def declared_workloads(config: Config) -> list[WorkloadConfig]:
    """All workloads; those of [[map.workload]] in the same form, their model as the callable."""
    map_only = [
        WorkloadConfig.model_validate({**one.model_dump(), "python": one.model})
        for one in config.map.workload
    ]
    return [*config.workload, *map_only]


def _subject(workload: WorkloadConfig, name: str, params: Mapping[str, Scalar]) -> Subject:
    stated = workload.model or workload.python or ""
    return Subject(
        id=name,
        workload=workload.id,
        entry="model" if workload.model else "step",
        file=entry_file(workload) or "",
        callable=stated.rpartition(":")[2],
        phase=workload.phase,
        params=params,
        devices=workload.devices,
        parallel=workload.parallel,
    )
