"""One comparison of base and head under way: blocks of both until all is decided.

What a launch measured is on disk before the next one starts, so whatever happens later is lost is
at most the block that was running.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ciwm.bench.block import BlockRunner
from ciwm.bench.communication import Profiling
from ciwm.bench.engine import Queue, Task
from ciwm.bench.plan import selected
from ciwm.bench.run_so_far import RunSoFar, batches_of, taken_s
from ciwm.bench.schedule import Schedule
from ciwm.errors import DeviceError
from ciwm.launch.communication import profile_order
from ciwm.launch.worker_job import Site
from ciwm.policy import Watch
from ciwm.policy.problems import unprovable
from ciwm.records import SIDES

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from ciwm.bench.engine import Engine, Finished
    from ciwm.bench.places import Place
    from ciwm.bench.run_directory import RunDirectory
    from ciwm.bench.saved_request import SavedRequest
    from ciwm.records import Launch, Plan, Run
    from ciwm.records.ranks import CommunicationProfile

STILL_RUNNING = "not ended yet"
INTERRUPTED = "interrupted"
DECIDED = "every workload is decided, given up, or has had all its launches"


class Under(NamedTuple):
    """What a run is under: where its blocks run, what stops it, who hears of it."""

    place: Place
    stop: threading.Event
    say: Callable[[str], None]


class Comparison:
    """One run under way."""

    def __init__(
        self,
        directory: RunDirectory,
        asked: SavedRequest,
        plan: Plan,
        under: Under,
    ) -> None:
        self.directory = directory
        self.asked = asked
        self.plan = plan
        self.place, self.stop, self.say = under
        builds = asked.builds
        self.built = tuple(side for side in SIDES if builds[side].ok)
        self.schedule = Schedule(plan, asked.config.gate, self.built)
        path = directory.path.resolve()
        self.so_far = RunSoFar(path, asked, plan)
        self.site = Site(
            directory=path,
            checkout=Path(asked.repository),
            builds=builds,
            sources={side: path / "workloads" / side for side in SIDES},
            python_path=asked.config.build.python_path,
        )
        self._deadline = time.monotonic() + asked.config.gate.budget_s
        self._last_number = 0

    def restore(self, launches: Sequence[Launch]) -> None:
        """Take over what an interrupted run measured; its launches' time is spent already."""
        self.so_far.add(launches)
        self._last_number = self.directory.last_number
        self.schedule.restore(launches)
        self.site.keep_batches(batches_of(self.site.directory, launches))
        self._deadline -= taken_s(launches)

    def run(self) -> Run:
        """Run blocks until all is decided, the budget is spent, or we are stopped."""
        self.directory.write_run(self.so_far.record(STILL_RUNNING, complete=False))
        if self.plan.purpose == "compare":
            for told in unprovable(self.plan, Watch(self.plan, self.asked.config.gate)):
                self.say(f"warning: {told}")
        engine = self._engine()
        try:
            problem = self._until_decided(engine)
        finally:
            engine.close()
        if problem is None and self.plan.purpose == "compare":
            self.so_far.communication = tuple(self._profiled())
        if problem is None or self.stop.is_set():
            return self._finished()
        if not self.so_far.launches:
            self.ended(problem.message, complete=False)
            raise problem  # a card that others hold is no word on the workloads
        if self._left_s <= 0:
            return self._finished()
        return self.ended(problem.message, complete=False)

    def _engine(self) -> Engine:
        return self.place.engine(self._runner(), self.schedule, self.asked)

    def _runner(self) -> BlockRunner:
        return BlockRunner(
            site=self.site,
            workloads={one.id: one for one in selected(self.asked.config, self.asked.only)},
            host=self.asked.environment,
            lock=self.directory.lock,
            bench=self.asked.config.bench,
            stop=self.stop,
            say=self.say,
        )

    def _profiled(self) -> Iterator[CommunicationProfile]:
        """The communication of both sides of the workloads that ask for it, as far as we come."""
        runner = self._runner()
        asking = [one for one in runner.workloads.values() if one.communication_share]
        profiler = self.place.profiler(runner, self.asked)
        profiling = Profiling(profiler, self._deadline, self.stop, self.say)
        for workload, side in product(asking, self.built):
            yield from profiling.of(profile_order(workload, side))

    def _until_decided(self, engine: Engine) -> DeviceError | None:
        """Begin blocks while there is need and room, and take them as they were begun.

        Returns what kept a block from its cards: then no other is begun. Raises what else ends a
        run.
        """
        problem: DeviceError | None = None
        queue = Queue()
        while True:
            while problem is None and not self.stop.is_set() and (task := self._next_task(engine)):
                queue.begun(task)
                engine.begin(task)
            if not queue.waiting:
                return problem
            finished = engine.next_finished()
            if isinstance(finished.error, DeviceError):
                problem = problem or finished.error
            elif finished.error is not None:
                raise finished.error
            self._deadline += finished.waited_s / len(queue.waiting)  # the budget is for launches
            for block in queue.over(finished):
                self._take(block)

    def _next_task(self, engine: Engine) -> Task | None:
        """The next block, with numbers for all its launches; none where it has no room yet."""
        turn = self.schedule.next_turn(self._left_s)
        if turn is None or not engine.has_room(turn.workload):
            return None
        self.schedule.begin(turn)
        task = Task(turn, self._last_number + 1, self._deadline)
        self._last_number += len(turn.sides)
        return task

    @property
    def _left_s(self) -> float:
        return self._deadline - time.monotonic()

    def _take(self, finished: Finished) -> None:
        block, task = finished.launches, finished.task
        if self._last_number == task.first + len(task.turn.sides) - 1:
            self._last_number = task.first + len(block) - 1  # numbers that nobody has used
        if not block:
            self.schedule.give_up(task.turn)
            return
        self.so_far.add(block)
        self.schedule.take(block, finished.took_s)
        name = block[0].workload
        if name not in self.schedule.undecided:
            self.say(f"{name}: {self.schedule.why_no_more(name)}")
        if self.directory.may_refresh:
            self.directory.write_run(self.so_far.record(STILL_RUNNING, complete=False))

    def _finished(self) -> Run:
        undecided = self.schedule.undecided
        if self.stop.is_set():
            return self.ended(INTERRUPTED, complete=False)
        if undecided:
            budget = self.asked.config.gate.budget_s
            why = f"the budget of {budget:g} s is spent; undecided: {', '.join(undecided)}"
            return self.ended(why, complete=False)
        if unbuilt := self.so_far.unbuilt:
            return self.ended(f"{unbuilt}; head was run alone", complete=True)
        return self.ended(DECIDED, complete=True)

    def ended(self, why: str, *, complete: bool) -> Run:
        """The Run, written down, with the reason for its end."""
        run = self.so_far.record(why, complete=complete, ended_at=datetime.now(timezone.utc))
        self.directory.write_run(run)
        self.say(f"{len(run.launches)} launches; {why}")
        return run
