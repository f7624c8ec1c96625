"""What a run was asked to do, kept beside it so that it can be resumed."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  pydantic reads annotations at run time
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from ciwm.config import Config, WorkloadConfig
from ciwm.errors import BuildError, EnvironmentFailure, IncomparableError, UsageError
from ciwm.launch.builds import hold_build
from ciwm.records import BuildRecord, Environment, RecordFile, Revision
from ciwm.records.factorial import Cell  # noqa: TC001  the same

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ciwm.bench.plan import BenchRequest
    from ciwm.git import Repository
    from ciwm.records import Side

AskedT = TypeVar("AskedT", bound="Asked")


class Asked(RecordFile):
    """What any run was asked to do, and on which host it began.

    `settings` is the configuration as JSON; it is checked as ciwm.toml is, not as a record.
    """

    id: str
    started_at: datetime
    repository: str
    settings: dict[str, Any]
    workloads_from: Revision
    seed: int
    only: tuple[str, ...] = ()
    environment: Environment

    @property
    def config(self) -> Config:
        """The configuration; raises UsageError when somebody changed the file."""
        try:
            return Config.model_validate(self.settings)
        except ValidationError as error:
            raise UsageError(f"the settings in request.json are damaged: {error}") from error


class SavedRequest(Asked):
    """That of a run that compares base with head."""

    base: BuildRecord
    head: BuildRecord

    @property
    def builds(self) -> dict[Side, BuildRecord]:
        """The builds by side."""
        return {"base": self.base, "head": self.head}


class SavedFactorial(Asked):
    """That of a run of two changes, each with and without the other."""

    builds: dict[Cell, BuildRecord]
    factors: tuple[str, str]


def saved(request: BenchRequest, run_id: str, at: datetime, host: Environment) -> SavedRequest:
    """A request as it is written down."""
    return SavedRequest(
        id=run_id,
        started_at=at,
        repository=str(home(request.repository)),
        settings=request.config.model_dump(mode="json"),
        base=request.base,
        head=request.head,
        workloads_from=request.workloads_from,
        seed=request.seed,
        only=request.only,
        environment=host,
    )


def home(repository: Repository) -> Path:
    """What a run remembers its repository by: the top of the checkout, or the bare repository."""
    return (repository.root or repository.path).resolve()


def with_budget(request: AskedT, budget_s: float) -> AskedT:
    """The request with another time budget."""
    gate = {**request.settings["gate"], "budget_s": budget_s}
    return request.model_copy(update={"settings": {**request.settings, "gate": gate}})


def refuse_changes(
    old: Asked, builds: Iterable[tuple[str, BuildRecord]], config: Config | None, host: Environment
) -> None:
    """Raise what keeps a run from being continued: another host, another build, other workloads."""
    hard = [one for one in old.environment.diff(host) if one.hard]
    if hard:
        raise IncomparableError(
            f"this run was begun on another host: {hard[0].what} was {hard[0].base}, "
            f"is {hard[0].head}",
            "resume it where it was begun, or start a new run",
        )
    for side, build in builds:
        if not build.ok:
            raise EnvironmentFailure(
                f"the {side} of this run did not build ({build.status})", "start a new run"
            )
        try:
            hold_build(build)
        except BuildError as error:
            raise EnvironmentFailure(
                f"cannot resume: {side}: {error.message}", "start a new run"
            ) from error
    if config is not None:
        _refuse_other_config(old, config)


def _refuse_other_config(old: Asked, config: Config) -> None:
    if config.build != old.config.build:
        raise UsageError("[build] changed since this run was begun", "start a new run")
    now = {workload.id: _whole(workload) for workload in config.workload}
    for workload in old.config.workload:
        if old.only and workload.id not in old.only:
            continue
        if now.get(workload.id) != _whole(workload):
            raise UsageError(
                f"workload {workload.id} changed since this run was begun", "start a new run"
            )


def _whole(workload: WorkloadConfig) -> WorkloadConfig:
    """A workload with the metrics it has by default written out, as `ciwm ci` saves it."""
    return workload.model_copy(update={"metrics": workload.declared_metrics})
