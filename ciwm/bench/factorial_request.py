"""What a run of four builds is to measure, as it is kept beside it, and its record at the start."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm.bench.plan import selected
from ciwm.bench.saved_request import SavedFactorial, home
from ciwm.launch.series import family
from ciwm.records import Arm
from ciwm.records.factorial import FactorialRun

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ciwm.config import Config
    from ciwm.git import Repository
    from ciwm.records import BuildRecord, Environment, Revision
    from ciwm.stats.factorial import Cell

UNDER_WAY = "not ended yet"


@dataclass(frozen=True)
class FactorialRequest:
    """What to measure; the number of launches of each combination and the budget are the gate's."""

    repository: Repository
    config: Config
    builds: Mapping[Cell, BuildRecord]
    factors: tuple[str, str]
    workloads_from: Revision
    directory: Path
    seed: int
    only: tuple[str, ...] = ()


def saved_factorial(request: FactorialRequest, host: Environment) -> SavedFactorial:
    """A request as it is written down."""
    now = datetime.now(timezone.utc)
    return SavedFactorial(
        id=f"{now:%Y%m%dT%H%M%SZ}-2x2",
        started_at=now,
        repository=str(home(request.repository)),
        settings=request.config.model_dump(mode="json"),
        builds=dict(request.builds),
        factors=request.factors,
        workloads_from=request.workloads_from,
        seed=request.seed,
        only=request.only,
        environment=host,
    )


def begun(asked: SavedFactorial, config: Config) -> FactorialRun:
    """The record of a run before its first launch."""
    workloads = selected(config, asked.only)
    return FactorialRun(
        id=asked.id,
        started_at=asked.started_at,
        seed=asked.seed,
        factors=asked.factors,
        max_launches=config.gate.max_launches,
        family=family(workloads, config.gate),
        workloads=tuple(one.id for one in workloads),
        workloads_from=asked.workloads_from,
        arms={
            cell: Arm(revision=build.revision, build=build, environment=asked.environment)
            for cell, build in asked.builds.items()
        },
        complete=False,
        stopped_because=UNDER_WAY,
    )
