"""Four builds under way: blocks of one launch of each combination, until all are done.

At the end each combination is profiled once where its workload asks for that: whose a change of
communication is can be read only with all four.
"""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.bench.block import describe
from ciwm.bench.cards import alone_on, cards_for, hidden, watched_hz
from ciwm.bench.communication import LocalProfiler, Profiling
from ciwm.bench.factorial_request import UNDER_WAY, begun
from ciwm.bench.plan import selected
from ciwm.bench.run_directory import FACTORIAL
from ciwm.bench.run_so_far import batches_of
from ciwm.errors import DeviceError
from ciwm.launch.clocks import held_clocks
from ciwm.launch.communication import profile_order
from ciwm.launch.files import write_atomically
from ciwm.launch.sampling import sampler
from ciwm.launch.worker_job import Order, Site
from ciwm.launch.worker_process import Limits, run_launch
from ciwm.policy.blocks import failed
from ciwm.records.factorial import FactorialLaunch, FactorialProfile, FactorialRun
from ciwm.stats.factorial import CELLS, factorial_order

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from ciwm.bench.run_directory import RunDirectory
    from ciwm.bench.saved_request import SavedFactorial
    from ciwm.config import WorkloadConfig
    from ciwm.records import Accelerator, Launch, Side
    from ciwm.stats.factorial import Cell

FAILURES = 2  # blocks of a workload that did not end well: more of them would not either
INTERRUPTED, DONE = "interrupted", "every workload has had all its launches"


def copy_of(directory: RunDirectory, cell: Cell) -> Path:
    """The folder of the workloads' files for a combination."""
    return directory.path.resolve() / "workloads" / cell


class Combinations:
    """One run under way."""

    def __init__(
        self,
        directory: RunDirectory,
        asked: SavedFactorial,
        stop: threading.Event,
        say: Callable[[str], None],
    ) -> None:
        self.directory = directory
        self.asked = asked
        self.config = asked.config
        self.workloads = selected(self.config, asked.only)
        self.record = begun(asked, self.config)
        self.stop = stop
        self.say = say
        self.launches: list[FactorialLaunch] = []
        self.communication: tuple[FactorialProfile, ...] = ()
        self.failures: Counter[str] = Counter()
        self._settled: set[tuple[str, int]] = set()  # blocks that need not be drawn again
        self._attempts: Counter[tuple[str, int]] = Counter()
        self._ran: Counter[tuple[str, int, int]] = Counter()  # launches of an attempt
        self._batches: dict[str, int] = {}  # of all combinations, which have a site each
        self._last_number = 0
        self._deadline = time.monotonic() + self.config.gate.budget_s

    def restore(self, launches: Sequence[Launch]) -> None:
        """Take over what an interrupted run measured; its launches' time is spent already."""
        self._last_number = self.directory.last_number
        self._batches.update(batches_of(self.directory.path.resolve(), launches))
        for launch in launches:
            place = (launch.workload, launch.block)
            order = factorial_order(self.record.seed, *place, launch.attempt)
            self._take(FactorialLaunch(cell=order[launch.position], launch=launch))
            self._attempts[place] = max(self._attempts[place], launch.attempt + 1)
            self._deadline -= launch.duration_s

    def run(self) -> FactorialRun:
        """Block after block, round-robin over the workloads; then their communication."""
        try:
            why, complete = self._until_done()
        except DeviceError as error:
            return self._ended(error.message, complete=False)
        self.communication = tuple(self._profiled())
        if self.stop.is_set():
            return self._ended(INTERRUPTED, complete=False)
        return self._ended(why, complete=complete)

    def _until_done(self) -> tuple[str, bool]:
        """Run blocks; why there are no more, and whether they are all that was asked for."""
        for workload, block in self._turns():
            if self.stop.is_set():
                break
            if time.monotonic() >= self._deadline:
                return f"the budget of {self.config.gate.budget_s:g} s is spent", False
            self._block(workload, block)
        failed = ", ".join(name for name, count in self.failures.items() if count >= FAILURES)
        return (f"launches of {failed} do not end well", False) if failed else (DONE, True)

    def _turns(self) -> Iterator[tuple[WorkloadConfig, int]]:
        for block in range(self.record.max_launches):
            for workload in self.workloads:
                settled = (workload.id, block) in self._settled
                if not settled and self.failures[workload.id] < FAILURES:
                    yield workload, block

    def _block(self, workload: WorkloadConfig, block: int) -> None:
        host, attempt = self.asked.environment, self._attempts[workload.id, block]
        cards = cards_for(workload, host)
        with (
            alone_on(cards, self._deadline, self.say, self.stop) as locks,
            held_clocks(cards, self.say),
            sampler(cards, watched_hz(workload, self.config.bench.telemetry_hz)) as watching,
        ):
            order = factorial_order(self.record.seed, workload.id, block, attempt)
            for position, cell in enumerate(order):
                limits = Limits(
                    left_s=max(self._deadline - time.monotonic(), 0.0),
                    stop=self.stop,
                    keep_open=(*locks, self.directory.lock.fileno),
                    variables=hidden(cards, host),
                    sampler=watching,
                )
                place = (block, attempt, position)
                launch = self._launch(workload, cell, place, limits, cards)
                self._take(FactorialLaunch(cell=cell, launch=launch))
                self.say(describe(launch, workload, cell))
                if launch.exit != "ok":
                    break
        self.wrote(self._so_far(UNDER_WAY, complete=False))

    def _take(self, one: FactorialLaunch) -> None:
        """Note a launch; its block is settled when it failed, or was the last of four."""
        launch = one.launch
        self.launches.append(one)
        self._last_number = max(self._last_number, launch.number)
        self.failures[launch.workload] += failed(launch)
        attempt = (launch.workload, launch.block, launch.attempt)
        self._ran[attempt] += launch.exit == "ok"
        if failed(launch) or self._ran[attempt] == len(CELLS):
            self._settled.add((launch.workload, launch.block))

    def _launch(
        self,
        workload: WorkloadConfig,
        cell: Cell,
        place: tuple[int, int, int],
        limits: Limits,
        cards: Sequence[Accelerator],
    ) -> Launch:
        block, attempt, position = place
        order = Order(
            number=self._last_number + 1,
            workload=workload,
            side=_side(cell),
            block=block,
            attempt=attempt,
            position=position,
            cards=tuple(card.index for card in cards),
        )
        launch, _ = run_launch(order, self._site(cell), limits)
        return launch

    def _profiled(self) -> Iterator[FactorialProfile]:
        """The communication of each combination of the workloads that ask for it."""
        asking = [one for one in self.workloads if one.communication_share]
        for workload, cell in product(asking, CELLS):
            host, lock = self.asked.environment, self.directory.lock
            profiler = LocalProfiler(self._site(cell), host, lock, self.stop, self.say)
            profiling = Profiling(profiler, self._deadline, self.stop, self.say)
            for one in profiling.of(profile_order(workload, _side(cell), cell)):
                yield FactorialProfile(cell=cell, profile=one)

    def _site(self, cell: Cell) -> Site:
        """A combination's build on its side; opposite, one that it must load nothing from."""
        other: Cell = "both" if cell == "neither" else cell
        builds = self.asked.builds
        return Site(
            directory=self.directory.path.resolve(),
            checkout=Path(self.asked.repository),
            builds={"base": builds["neither"], "head": builds[other]},
            sources={
                "base": copy_of(self.directory, "neither"),
                "head": copy_of(self.directory, other),
            },
            python_path=self.config.build.python_path,
            batches=self._batches,
        )

    def _so_far(self, why: str, *, complete: bool, at: datetime | None = None) -> FactorialRun:
        return self.record.model_copy(
            update={
                "launches": tuple(self.launches),
                "communication": self.communication,
                "complete": complete,
                "stopped_because": why,
                "ended_at": at,
            }
        )

    def _ended(self, why: str, *, complete: bool) -> FactorialRun:
        run = self._so_far(why, complete=complete, at=datetime.now(timezone.utc))
        self.wrote(run)
        self.say(f"{len(self.launches)} launches; {why}")
        return run

    def wrote(self, run: FactorialRun) -> None:
        """Replace factorial.json."""
        write_atomically(self.directory.path / FACTORIAL, run.to_json())


def _side(cell: Cell) -> Side:
    """The side of a launch on which a combination's build is."""
    return "base" if cell == "neither" else "head"
