"""One series: set up, warm up, time, check, tear down."""

from __future__ import annotations

import gc
import time
from types import ModuleType
from typing import Any, Dict, List, NamedTuple, Optional

from .clock import Step, clock_name, make_clock
from .journal import Journal
from .problem import Problem
from .result import check_number, check_tensor, positive_time, refuse_unrun, reported
from .workload import Prepared, prepare


class Schedule(NamedTuple):
    """How much to run, and what to write down of it."""

    iterations: int
    warmup_iterations: int
    warmup_s: float
    time_metric: Optional[str]  # the metric that is the step's own time, if declared
    time_scale: float  # seconds times this is its unit
    reported: List[str]  # metrics the step itself returns


class Series(NamedTuple):
    """What one set of parameters is measured with."""

    name: str
    schedule: Schedule
    journal: Journal
    ranks: Any


def run_series(module: ModuleType, name: str, params: Dict[str, Any], series: Series) -> None:
    """Measure one set of parameters; raises what the workload raises, or Problem."""
    prepared = prepare(module, name, params)
    try:
        _warm_up(prepared.step, series)
        _measure(prepared, series)
    finally:
        series.journal.flush()
    prepared.teardown()


def _warm_up(step: Step, series: Series) -> None:
    """Run until both the count and the time are met; a device may come into use meanwhile.

    Ranks warm up until the last of them has met both.
    """
    schedule, journal = series.schedule, series.journal
    began, done, first_s = time.monotonic(), 0, 0.0
    name = clock_name()
    clock = make_clock(name)
    while series.ranks.any(
        done < schedule.warmup_iterations or time.monotonic() - began < schedule.warmup_s
    ):
        result, seconds = clock.time(step)
        if done == 0:
            first_s = seconds
            refuse_unrun(result)
        check_number(result)
        del result
        done += 1
        if clock_name() != name:
            name = clock_name()
            clock = make_clock(name)
        journal.tick()
    journal.write(
        "warmup",
        series=series.name,
        iterations=done,
        duration_s=time.monotonic() - began,
        first_s=first_s,
    )


def _measure(prepared: Prepared, series: Series) -> None:
    journal = series.journal
    name = clock_name()
    clock = make_clock(name)
    journal.write("clock", series=series.name, clock=name)
    gc.collect()
    result: Any = None
    for number in range(series.schedule.iterations):
        del result
        series.ranks.meet()
        result, seconds = clock.time(prepared.step)
        if number == 0:
            refuse_unrun(result)
        _keep(result, seconds / prepared.calls, series)
        journal.tick()
    check_tensor(result)
    clock.check()
    if clock_name() != name:
        raise Problem(
            "invalid",
            f"the step began to use a device ({clock_name()}) after its warm-up; "
            "set warmup_iterations to 1 or more",
        )


def _keep(result: Any, seconds: float, series: Series) -> None:
    name, schedule, journal, _ = series
    if result is not None:
        check_number(result)
    if schedule.time_metric is not None:
        value = positive_time(seconds * schedule.time_scale, name)
        journal.add(name, schedule.time_metric, value)
    if schedule.reported:
        for metric, value in reported(result, schedule.reported).items():
            journal.add(name, metric, value)
