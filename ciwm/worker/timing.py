"""One series: set up, warm up, time, check, tear down."""

from __future__ import annotations

import gc
import time
from types import ModuleType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from .batch import batch_size, batches
from .cache import flusher
from .clock import Step, clock_name, make_clock
from .journal import Journal
from .once import Once
from .problem import Problem
from .result import check_number, check_tensor, positive_time, refuse_unrun, reported
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
    once: Dict[str, float] = {}  # noqa: RUF012  a tuple's default is not shared for writing


def run_series(
    module: ModuleType, name: str, one: Dict[str, Any], schedule: Schedule, journal: Journal
) -> None:
    """Measure one set of parameters; raises what the workload raises, or Problem."""
    once = Once(schedule.once)
    prepared = prepare(module, name, one["params"])
    series = one["series"]
    try:
        level = warm_up(prepared.steps, series, schedule, journal)
        single = schedule.reported or schedule.flush_cache  # what is lost, or warm, in a batch
        size = schedule.batch or (1 if single else batch_size(level.step_s))
        _measure(batches(prepared.steps, size), size, series, schedule, journal)
        for metric, value in once.values(level.first_s).items():
            journal.add(series, metric, value)
    finally:
        journal.flush()
    prepared.teardown()


def _measure(
    steps: Iterator[Step], size: int, series: str, schedule: Schedule, journal: Journal
) -> None:
    name = clock_name()
    clock = make_clock(name)
    flush = flusher() if schedule.flush_cache else None
    journal.write("clock", series=series, clock=name, calls=size)
    gc.collect()
    result: Any = None
    begun_s = time.monotonic()
    for number in range(schedule.iterations):
        del result
        step = next(steps)
        if flush is not None:
            flush()
        result, seconds = clock.time(step)
        if number == 0:
            refuse_unrun(result)
        _keep(result, seconds / size, series, schedule, journal)
        journal.tick()
    journal.write("measured", series=series, begun_s=begun_s, ended_s=time.monotonic())
    check_tensor(result)
    clock.check()
    if clock_name() != name:
        raise Problem(
            "invalid",
            f"the step began to use a device ({clock_name()}) after its warm-up; "
            "set warmup_iterations to 1 or more",
        )


def _keep(result: Any, seconds: float, series: str, schedule: Schedule, journal: Journal) -> None:
    if result is not None:
        check_number(result)
    if schedule.time_metric is not None:
        value = positive_time(seconds * schedule.time_scale, series)
        journal.add(series, schedule.time_metric, value)
    if schedule.reported:
        for metric, value in reported(result, schedule.reported).items():
            journal.add(series, metric, value)
