"""Before the timing: the cold first step, then steps until their level no longer falls."""

from __future__ import annotations

from time import monotonic, perf_counter_ns  # by name: a workload may patch the module
from typing import Any, Iterator, List, NamedTuple

from .clock import Step, barrier, clock_name, device_kind, make_clock, middle
from .journal import Journal
from .result import check_number, refuse_unrun

CHUNK_STEPS, CHUNK_S = 5, 0.05  # over which a level is taken: both
FALL = 0.01  # less than this from one level to the next is steady


class Level(NamedTuple):
    """What is known of a step before it is timed; `step_s` is None without enough steps."""

    first_s: float
    step_s: Any


class Levels:
    """Medians of successive chunks of steps; steady once one is no longer below the last."""

    def __init__(self, now_s: float) -> None:
        self.steady = False
        self._last: Any = None
        self._chunk: List[float] = []
        self._begun_s = now_s

    @property
    def step_s(self) -> Any:
        """What a step takes by now; None before there are enough of them."""
        if self._last is None and len(self._chunk) >= CHUNK_STEPS:
            return middle(self._chunk)
        return self._last

    def add(self, seconds: float, now_s: float) -> None:
        """Take the time of a step that has just ended."""
        self._chunk.append(seconds)
        if len(self._chunk) < CHUNK_STEPS or now_s - self._begun_s < CHUNK_S:
            return
        level = middle(self._chunk)
        self.steady = self._last is not None and level > self._last * (1 - FALL)
        self._last = level
        self._chunk, self._begun_s = [], now_s


def first_step(step: Step) -> float:
    """Run a step that was never run before; its seconds until all it began is done."""
    start = perf_counter_ns()
    result = step()
    kind = device_kind()
    if kind:
        barrier(kind)()
    seconds = (perf_counter_ns() - start) / 1e9
    refuse_unrun(result)
    check_number(result)
    return seconds


def warm_up(
    steps: Iterator[Step], series: str, schedule: Any, journal: Journal, ranks: Any
) -> Level:
    """Run until count and time are met and the level is steady, or `warmup_max_s` is over.

    Ranks warm up until the last of them has enough.
    A device may come into use meanwhile. With neither count nor time asked for, nothing runs.
    """
    began, done, first_s, levels = monotonic(), 0, 0.0, Levels(monotonic())
    name = clock_name()
    clock = make_clock(name)

    def spent_s() -> float:
        return monotonic() - began

    def wanted() -> bool:
        if done < schedule.warmup_iterations or spent_s() < schedule.warmup_s:
            return True
        return not levels.steady and 0 < spent_s() < schedule.warmup_max_s

    while (schedule.warmup_iterations or schedule.warmup_s) and ranks.any(wanted()):
        if done == 0:
            first_s = first_step(next(steps))
        else:
            result, seconds = clock.time(next(steps))
            check_number(result)
            levels.add(seconds, monotonic())
            del result
        done += 1
        if clock_name() != name:
            name = clock_name()
            clock = make_clock(name)
            levels = Levels(monotonic())
        journal.tick()
    journal.write(
        "warmup",
        series=series,
        iterations=done,
        duration_s=spent_s(),
        first_s=first_s,
        steady=levels.steady or schedule.warmup_max_s <= 0 or done == 0,
    )
    return Level(first_s, levels.step_s)
