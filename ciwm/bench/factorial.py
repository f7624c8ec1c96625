"""Measuring four builds: two changes, each with and without the other, interleaved in blocks."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm.bench.block import describe
from ciwm.bench.cards import alone_on, cards_for, hidden
from ciwm.bench.plan import selected
from ciwm.bench.run_directory import held, refuse_used
from ciwm.bench.where import machine_of
from ciwm.errors import BuildError, DeviceError
from ciwm.launch.files import refuse_unlistable, write_atomically
from ciwm.launch.series import family
from ciwm.launch.worker_job import Order, Site
from ciwm.launch.worker_process import Limits, run_launch
from ciwm.launch.workloads import WorkloadSource
from ciwm.records import Arm
from ciwm.records.factorial import FactorialLaunch, FactorialRun
from ciwm.stats.factorial import CELLS, factorial_order

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from ciwm.bench.run_directory import RunDirectory
    from ciwm.config import Config, WorkloadConfig
    from ciwm.git import Repository
    from ciwm.records import BuildRecord, Environment, Revision
    from ciwm.stats.factorial import Cell

FILE = "factorial.json"
FAILURES = 2  # blocks of a workload that did not end well: more of them would not either
INTERRUPTED, DONE = "interrupted", "every workload has had all its launches"


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


def measure_factorial(
    request: FactorialRequest, *, stop: threading.Event, on_progress: Callable[[str], None]
) -> FactorialRun:
    """Measure the four builds and return the run, written as factorial.json after every block.

    Raises BuildError when one did not build, UsageError when the folder is used already.
    """
    refuse_unlistable(request.directory.absolute(), "the folder of the run")
    for cell in CELLS:
        build = request.builds[cell]
        if not build.ok:
            raise BuildError(f"{build.revision.ref} did not build ({build.status})", build.log)
    refuse_used(request.directory)
    workloads = selected(request.config, request.only)
    tests = family(workloads, request.config.gate)
    source = WorkloadSource(request.repository, request.workloads_from)
    files = tuple(path for one in workloads for path in source.files(one))
    with held(request.directory) as directory:
        for cell in CELLS:
            source.materialise(files, _copy(directory, cell))
        run = FactorialRun(
            id=f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-2x2",
            started_at=datetime.now(timezone.utc),
            seed=request.seed,
            factors=request.factors,
            max_launches=request.config.gate.max_launches,
            family=tests,
            workloads=tuple(one.id for one in workloads),
            workloads_from=request.workloads_from,
            arms=_arms(request, host := machine_of(workloads)),
            complete=False,
            stopped_because="not ended yet",
        )
        return _Measuring(request, directory, run, host, stop, on_progress).run()


def _arms(request: FactorialRequest, host: Environment) -> dict[Cell, Arm]:
    return {
        cell: Arm(
            revision=request.builds[cell].revision, build=request.builds[cell], environment=host
        )
        for cell in CELLS
    }


def _copy(directory: RunDirectory, cell: Cell) -> Path:
    return directory.path.resolve() / "workloads" / cell


@dataclass
class _Measuring:
    """One run under way."""

    request: FactorialRequest
    directory: RunDirectory
    record: FactorialRun
    host: Environment
    stop: threading.Event
    say: Callable[[str], None]
    launches: list[FactorialLaunch] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.request.config.gate.budget_s

    def run(self) -> FactorialRun:
        """Block after block, round-robin over the workloads."""
        for workload, block in self._turns():
            if self.stop.is_set():
                return self._ended(INTERRUPTED, complete=False)
            if time.monotonic() >= self._deadline:
                budget_s = self.request.config.gate.budget_s
                return self._ended(f"the budget of {budget_s:g} s is spent", complete=False)
            try:
                self._block(workload, block)
            except DeviceError as error:
                return self._ended(error.message, complete=False)
        failed = ", ".join(name for name, count in self.failures.items() if count >= FAILURES)
        why = f"launches of {failed} do not end well" if failed else DONE
        return self._ended(INTERRUPTED if self.stop.is_set() else why, complete=not failed)

    def _turns(self) -> Iterator[tuple[WorkloadConfig, int]]:
        workloads = selected(self.request.config, self.request.only)
        for block in range(self.record.max_launches):
            for workload in workloads:
                if self.failures[workload.id] < FAILURES:
                    yield workload, block

    def _block(self, workload: WorkloadConfig, block: int) -> None:
        cards = cards_for(workload, self.host)
        with alone_on(cards, self._deadline, self.say, self.stop) as locks:
            order = factorial_order(self.record.seed, workload.id, block, 0)
            for position, cell in enumerate(order):
                limits = Limits(
                    left_s=max(self._deadline - time.monotonic(), 0.0),
                    stop=self.stop,
                    keep_open=(*locks, self.directory.lock.fileno),
                    variables=hidden(cards, self.host),
                )
                launch = self._launch(workload, cell, (block, position), limits)
                self.launches.append(launch)
                self.say(describe(launch.launch, workload, cell))
                if launch.launch.exit != "ok":
                    self.failures[workload.id] += 1
                    break
        self._ended(self.record.stopped_because, complete=False)

    def _launch(
        self, workload: WorkloadConfig, cell: Cell, place: tuple[int, int], limits: Limits
    ) -> FactorialLaunch:
        block, position = place
        order = Order(
            number=len(self.launches) + 1,
            workload=workload,
            side="base" if cell == "neither" else "head",
            block=block,
            attempt=0,
            position=position,
        )
        launch, _ = run_launch(order, self._site(cell), limits)
        return FactorialLaunch(cell=cell, launch=launch)

    def _site(self, cell: Cell) -> Site:
        """A combination's build on its side; opposite, one that it must load nothing from."""
        other: Cell = "both" if cell == "neither" else cell
        builds = self.request.builds
        return Site(
            directory=self.directory.path.resolve(),
            checkout=(self.request.repository.root or self.request.repository.path).resolve(),
            builds={"base": builds["neither"], "head": builds[other]},
            sources={
                "base": _copy(self.directory, "neither"),
                "head": _copy(self.directory, other),
            },
            python_path=self.request.config.build.python_path,
        )

    def _ended(self, why: str, *, complete: bool) -> FactorialRun:
        ended = why != self.record.stopped_because
        run = self.record.model_copy(
            update={
                "launches": tuple(self.launches),
                "complete": complete,
                "stopped_because": why,
                "ended_at": datetime.now(timezone.utc) if ended else None,
            }
        )
        write_atomically(self.directory.path / FILE, run.to_json())
        if ended:
            self.say(f"{len(self.launches)} launches; {why}")
        return run
