"""Measuring base and head side by side: blocks of fresh launches in a seeded random order.

What a launch measured is on disk before the next one starts, so whatever happens later is lost is
at most the block that was running.
"""

from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ciwm.bench.block import BlockRunner
from ciwm.bench.cards import cards_for
from ciwm.bench.communication import Profiling
from ciwm.bench.engine import Queue, Task
from ciwm.bench.link_peak import with_link_peaks
from ciwm.bench.places import place_for
from ciwm.bench.plan import BenchRequest, make_plan, selected
from ciwm.bench.run_directory import RUN, RunDirectory, held, refuse_used
from ciwm.bench.saved_request import SavedRequest, refuse_changes, saved, with_budget
from ciwm.bench.schedule import Schedule
from ciwm.errors import DeviceError, UsageError
from ciwm.launch.files import refuse_unlistable
from ciwm.launch.journal import read_journal
from ciwm.launch.worker_job import JOURNAL, Site
from ciwm.launch.workloads import WorkloadSource
from ciwm.policy import Watch
from ciwm.policy.problems import unprovable
from ciwm.records import SIDES, Arm, Run, read_record

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from ciwm.bench.engine import Engine, Finished
    from ciwm.bench.places import Place
    from ciwm.config import Config
    from ciwm.records import Environment, Launch, Plan, Side
    from ciwm.records.ranks import CommunicationProfile

__all__ = ["BenchRequest", "measure", "resume"]

STILL_RUNNING = "not ended yet"
INTERRUPTED = "interrupted"
DECIDED = "every workload is decided or has had all its launches"


class Under(NamedTuple):
    """What a run is under: where its blocks run, what stops it, who hears of it."""

    place: Place
    stop: threading.Event
    say: Callable[[str], None]


def measure(
    request: BenchRequest, *, stop: threading.Event, on_progress: Callable[[str], None]
) -> Run:
    """Measure both builds into `request.directory` and return the Run, also written as run.json.

    Setting `stop` ends the running launch and returns what there is. Raises UsageError when the
    folder holds a run already or the workloads cannot be run, EnvironmentFailure when the disk is
    full.
    """
    refuse_unlistable(request.directory.absolute(), "the folder of the run")
    now = datetime.now(timezone.utc)
    plan, files = make_plan(request)
    refuse_used(request.directory)
    with (
        place_for(request.config, request.head, on_progress, request.only) as place,
        held(request.directory) as directory,
    ):
        for workload in selected(request.config, request.only):
            cards_for(workload, place.host)
        if request.config.bench.probe and request.head.ok:
            place.refuse_sick(request.head, stop, on_progress)
        plan = with_link_peaks(plan, place.host)
        asked = saved(request, _run_id(request, now), now, place.host)
        bench = _Bench(directory, asked, plan, Under(place, stop, on_progress))
        if request.head.ok:
            source = WorkloadSource(request.repository, request.workloads_from)
            for side in bench.built:
                source.materialise(files, bench.site.sources[side])
        directory.begin(asked, plan)
        return bench.run() if request.head.ok else bench.ended(bench.unbuilt, complete=False)


def resume(
    path: Path,
    *,
    stop: threading.Event,
    on_progress: Callable[[str], None],
    config: Config | None = None,
    budget_s: float | None = None,
) -> Run:
    """Continue an interrupted run in its folder and return the whole Run.

    The interrupted block is drawn anew. `budget_s` replaces the budget, of which the launches so
    far are spent. Raises LaunchError while somebody works in the folder,
    UsageError when the workloads or the recipe of `config` are not those of the run,
    EnvironmentFailure when a build is gone, IncomparableError on another host.
    """
    if not path.is_dir():
        raise UsageError(f"there is no run in {path}")
    with held(path) as directory:
        asked, plan = directory.request(SavedRequest), directory.plan()
        with place_for(asked.config, asked.head, on_progress, asked.only) as place:
            refuse_changes(asked, asked.builds.items(), config, place.host)
            if budget_s is not None:
                asked = with_budget(asked, budget_s)
            bench = _Bench(directory, asked, plan, Under(place, stop, on_progress))
            if (path / RUN).is_file() and (run := read_record(path / RUN, Run)).complete:
                on_progress(f"{path}: this run is complete")
                return run
            bench.restore(directory.launches())
            return bench.run()


class _Bench:
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
        self.launches: list[Launch] = []
        self.communication: tuple[CommunicationProfile, ...] = ()
        self.arms = dict.fromkeys(SIDES, asked.environment)
        self.site = Site(
            directory=directory.path.resolve(),
            checkout=Path(asked.repository),
            builds=builds,
            sources={side: directory.path.resolve() / "workloads" / side for side in SIDES},
            python_path=asked.config.build.python_path,
        )
        self._deadline = time.monotonic() + asked.config.gate.budget_s
        self._last_number = 0

    def restore(self, launches: Sequence[Launch]) -> None:
        """Take over what an interrupted run measured; its launches' time is spent already."""
        self.launches = list(launches)
        self._last_number = self.directory.last_number
        self.schedule.restore(launches)
        self._deadline -= sum(launch.duration_s for launch in launches)
        for launch in launches:
            self._learn_software(launch)

    def run(self) -> Run:
        """Run blocks until all is decided, the budget is spent, or we are stopped."""
        self.directory.write_run(self._run(STILL_RUNNING, complete=False))
        if self.plan.purpose == "compare":
            for told in unprovable(self.plan, Watch(self.plan, self.asked.config.gate)):
                self.say(f"warning: {told}")
        engine = self._engine()
        try:
            problem = self._until_decided(engine)
        finally:
            engine.close()
        if problem is None and self.plan.purpose == "compare":
            self.communication = self._profiled()
        if problem is None or self.stop.is_set():
            return self._finished()
        if not self.launches:
            self.ended(problem.message, complete=False)
            raise problem  # a card that others hold is no word on the workloads
        if self._left_s <= 0:
            return self._finished()
        return self.ended(problem.message, complete=False)

    def _engine(self) -> Engine:
        runner = BlockRunner(
            site=self.site,
            workloads={one.id: one for one in selected(self.asked.config, self.asked.only)},
            host=self.asked.environment,
            lock=self.directory.lock,
            bench=self.asked.config.bench,
            stop=self.stop,
            say=self.say,
        )
        return self.place.engine(runner, self.schedule, self.asked)

    def _profiled(self) -> tuple[CommunicationProfile, ...]:
        config = self.asked.config
        profiling = Profiling(
            site=self.site,
            host=self.asked.environment,
            lock=self.directory.lock,
            engine=config.bench.engine,
            deadline=self._deadline,
            stop=self.stop,
            say=self.say,
        )
        return tuple(profiling.of(selected(config, self.asked.only), self.built))

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
        self.launches = sorted([*self.launches, *block], key=lambda launch: launch.number)
        for launch in block:
            self._learn_software(launch)
        self.schedule.take(block, finished.took_s)
        name = block[0].workload
        if name not in self.schedule.undecided:
            ran = any(one.exit == "ok" for one in self.launches if one.workload == name)
            self.say(f"{name}: " + ("enough launches" if ran else "no more launches: none ran"))
        if self.directory.may_refresh:
            self.directory.write_run(self._run(STILL_RUNNING, complete=False))

    def _learn_software(self, launch: Launch) -> None:
        """Interpreter and framework of a side, as its first launch that says so reports them."""
        known = self.arms[launch.side]
        if known.interpreter is not None and known.torch is not None:
            return
        journal = read_journal(self.site.directory / Path(launch.log).parent / JOURNAL)
        self.arms[launch.side] = known.model_copy(
            update={
                "interpreter": known.interpreter or journal.interpreter,
                "torch": known.torch or journal.torch,
                "torch_build": known.torch_build or journal.torch_build,
                "collective_library": known.collective_library or journal.collective_library,
            }
        )

    def _finished(self) -> Run:
        undecided = self.schedule.undecided
        if self.stop.is_set():
            return self.ended(INTERRUPTED, complete=False)
        if undecided:
            budget = self.asked.config.gate.budget_s
            why = f"the budget of {budget:g} s is spent; undecided: {', '.join(undecided)}"
            return self.ended(why, complete=False)
        if self.unbuilt:
            return self.ended(f"{self.unbuilt}; head was run alone", complete=True)
        return self.ended(DECIDED, complete=True)

    @property
    def unbuilt(self) -> str:
        """Which side has no build, and why; empty when both have one."""
        arms = ((side, self.site.builds[side]) for side in SIDES)
        return "; ".join(f"{s} did not build ({b.status})" for s, b in arms if not b.ok)

    def ended(self, why: str, *, complete: bool) -> Run:
        """The Run, written down, with the reason for its end."""
        run = self._run(why, complete=complete, ended_at=datetime.now(timezone.utc))
        self.directory.write_run(run)
        self.say(f"{len(self.launches)} launches; {why}")
        return run

    def _run(self, why: str, *, complete: bool, ended_at: datetime | None = None) -> Run:
        return Run(
            id=self.asked.id,
            started_at=self.asked.started_at,
            ended_at=ended_at,
            plan=self.plan,
            base=self._arm("base"),
            head=self._arm("head"),
            launches=tuple(self.launches),
            communication=self.communication,
            complete=complete,
            stopped_because=why,
        )

    def _arm(self, side: Side) -> Arm:
        build = self.site.builds[side]
        environment: Environment = self.arms[side]
        return Arm(revision=build.revision, build=build, environment=environment)


def _run_id(request: BenchRequest, now: datetime) -> str:
    shas = f"{request.base.revision.sha[:8]}-{request.head.revision.sha[:8]}"
    return f"{now:%Y%m%dT%H%M%SZ}-{shas}"
