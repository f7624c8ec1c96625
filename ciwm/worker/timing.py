"""One series: set up, warm up, time, check, tear down."""

from __future__ import annotations

import gc
from time import monotonic  # by name: a workload may patch the module
from types import ModuleType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

from .batch import batch_size, batches
from .cache import flusher
from .clock import Step, clock_name, make_clock
from .journal import Journal
from .once import Once
from .problem import Problem
from .result import INFINITY, check_last, check_number, refuse_time, refuse_unrun, reported
from .warmup import warm_up
from .workload import prepare


class Schedule(NamedTuple):
    """How much to run, and what to write down of it."""

    iterations: int
    warmup_iterations: int
    warmup_s: float
    time_metric: Optional[str]  # the metric that is the step's own time, if declared
    time_scale: float  # seconds times this is its unit
    reported: List[str]  # metrics the step itself returns
    warmup_max_s: float = 0.0  # until the level is steady, at most
    batch: int = 1  # calls a sample; 0: as many as a short step needs
    flush_cache: bool = False
    batch_before: int = 0  # calls a sample in an earlier launch of the series, if there was one
    once: Dict[str, float] = {}  # noqa: RUF012  a tuple's default is not shared for writing


class Series(NamedTuple):
    """What one set of parameters is measured as: its name, how much, where to, and beside whom."""

    name: str
    schedule: Schedule
    journal: Journal
    ranks: Any


def run_series(module: ModuleType, name: str, params: Dict[str, Any], whole: Series) -> None:
    """Measure one set of parameters; raises what the workload raises, or Problem."""
    series, schedule, journal, ranks = whole
    once = Once(schedule.once)
    prepared = prepare(module, name, params)
    try:
        level = warm_up(prepared.steps, series, schedule, journal, ranks)
        single = schedule.reported or schedule.flush_cache  # what is lost, or warm, in a batch
        size = schedule.batch or (1 if single else ranks.first(_batch(level.step_s, schedule)))
        journal.write("batch", series=series, size=size)
        _measure(batches(prepared.steps, size), size * prepared.calls, whole)
        for metric, value in once.values(level.first_s).items():
            journal.add(series, metric, value)
    finally:
        journal.flush()
    prepared.teardown()


def _batch(step_s: Optional[float], schedule: Schedule) -> int:
    return batch_size(step_s, schedule.batch_before)


def _measure(steps: Iterator[Step], size: int, whole: Series) -> None:
    series, schedule, journal, ranks = whole
    name = clock_name()
    clock = make_clock(name)
    flush = flusher() if schedule.flush_cache else None
    journal.write("clock", series=series, clock=name, calls=size)
    gc.collect()
    timed, keep, tick = clock.time, _keeper(size, series, schedule, journal), journal.tick
    result: Any = None
    begun_s = monotonic()
    for number in range(schedule.iterations):
        del result
        step = next(steps)
        if flush is not None:
            flush()
        ranks.meet()
        result, seconds = timed(step)
        if number == 0:
            refuse_unrun(result)
        keep(result, seconds)
        tick()
    journal.write("measured", series=series, begun_s=begun_s, ended_s=monotonic())
    check_last(result)
    clock.check()
    if clock_name() != name:
        raise Problem(
            "invalid",
            f"the step began to use a device ({clock_name()}) after its warm-up; "
            "set warmup_iterations to 1 or more",
        )


def _keeper(
    size: int, series: str, schedule: Schedule, journal: Journal
) -> Callable[[Any, float], None]:
    """What checks an iteration's result and keeps its time; a fraction of a microsecond."""
    scale, reports = schedule.time_scale / size, schedule.reported
    gather = journal.gatherer(series, schedule.time_metric) if schedule.time_metric else None

    def keep(result: Any, seconds: float) -> None:
        if result is not None:
            check_number(result)
        if gather is not None:
            value = seconds * scale
            if not 0 < value < INFINITY:
                refuse_time(value, series)
            gather(value)
        if reports:
            for metric, number in reported(result, reports).items():
                journal.add(series, metric, number)

    return keep
