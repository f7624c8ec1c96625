"""Blocks on the cards of this machine, several side by side where there are cards for them."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from ciwm.bench.engine import Finished, Halt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.bench.block import BlockRunner
    from ciwm.bench.engine import Task
    from ciwm.bench.schedule import Schedule
    from ciwm.config import WorkloadConfig
    from ciwm.records import Accelerator


class LocalEngine:
    """Gives each block cards of its own, in the order of their indices.

    Without cards, and with `limit` 1, one block runs at a time, in the caller's own thread.
    """

    def __init__(self, runner: BlockRunner, schedule: Schedule, limit: int | None) -> None:
        cards = runner.host.accelerators
        self._runner = runner
        self._schedule = schedule
        self._workloads: Mapping[str, WorkloadConfig] = runner.workloads
        self._free = list(cards)
        self._places = min(limit or max(len(cards), 1), max(len(cards), 1))
        self._halt = Halt(runner.stop)
        runner.stop = self._halt
        self._pool = ThreadPoolExecutor(self._places) if self._places > 1 else None
        self._running: dict[Future[Finished], tuple[Accelerator, ...]] = {}

    def has_room(self, workload: str) -> bool:
        """Whether there is a place, and as many free cards as the workload needs."""
        if len(self._running) >= self._places:
            return False
        needed = self._workloads[workload].devices if self._runner.host.accelerators else 0
        return len(self._free) >= needed

    def begin(self, task: Task) -> None:
        """Start a block on free cards."""
        devices = self._workloads[task.turn.workload].devices
        cards, self._free = tuple(self._free[:devices]), self._free[devices:]
        if self._pool is None:
            future: Future[Finished] = Future()
            self._running[future] = cards
            future.set_result(self._run(task, cards))
        else:
            self._running[self._pool.submit(self._run, task, cards)] = cards

    def next_finished(self) -> Finished:
        """Wait for a block; its cards are free again."""
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        future = min(done, key=lambda one: one.result().task.first)
        self._free = sorted((*self._free, *self._running.pop(future)), key=lambda card: card.index)
        return future.result()

    def close(self) -> None:
        """End what still runs."""
        self._halt.set()
        if self._pool is not None:
            self._pool.shutdown()

    def _run(self, task: Task, cards: tuple[Accelerator, ...]) -> Finished:
        began, finished = time.monotonic(), Finished(task)
        try:
            for _launch in self._runner.run(finished, self._schedule, cards):
                pass  # it is in the block, and on disk
        except Exception as error:  # noqa: BLE001  raised, or judged, by who waits for it
            finished.error = error
        finished.took_s = time.monotonic() - began - finished.waited_s
        return finished
