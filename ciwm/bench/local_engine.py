"""Blocks on the cards of this machine, several side by side where there are cards for them."""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from ciwm.bench.cards import cards_for, hidden
from ciwm.bench.engine import Finished, Halt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ciwm.bench.block import BlockRunner
    from ciwm.bench.engine import Task
    from ciwm.bench.schedule import Schedule
    from ciwm.config import WorkloadConfig
    from ciwm.records import Accelerator, Environment


def places(host: Environment, workloads: Iterable[WorkloadConfig], limit: int | None) -> int:
    """How many blocks may run side by side: one, unless each can be kept to cards of its own.

    That takes cards whose others can be hidden from a launch, and that are not slices of one card.
    With a launcher nobody knows here where a launch goes.
    """
    cards = host.accelerators
    whole = len({(card.vendor, card.index) for card in cards}) == len(cards)
    kept_apart = len(cards) > 1 and whole and bool(hidden(cards[:1], host))
    if not kept_apart or any(workload.launcher for workload in workloads):
        return 1
    return min(limit or len(cards), len(cards))


class LocalEngine:
    """Gives each block cards of its own, in the order in which the host shows them.

    Where there is one place, its block runs in the caller's own thread.
    """

    def __init__(self, runner: BlockRunner, schedule: Schedule, limit: int | None) -> None:
        cards = runner.host.accelerators
        self._runner = runner
        self._schedule = schedule
        self._workloads: Mapping[str, WorkloadConfig] = runner.workloads
        self._free = list(cards)
        self._places = places(runner.host, runner.workloads.values(), limit)
        self._halt = Halt(runner.stop)
        runner.stop = self._halt
        self._pool = ThreadPoolExecutor(self._places) if self._places > 1 else None
        self._running: dict[Future[Finished], tuple[Accelerator, ...]] = {}

    def has_room(self, workload: str) -> bool:
        """Whether there is a place, and as many free cards as the workload needs."""
        if len(self._running) >= self._places:
            return False
        return len(self._free) >= self._needed(workload)

    def begin(self, task: Task) -> None:
        """Start a block on free cards."""
        needed = self._needed(task.turn.workload)
        cards, self._free = tuple(self._free[:needed]), self._free[needed:]
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
        free = (*self._free, *self._running.pop(future))
        self._free = [card for card in self._runner.host.accelerators if card in free]
        return future.result()

    def close(self) -> None:
        """End what still runs."""
        self._halt.set()
        if self._pool is not None:
            self._pool.shutdown()

    def _needed(self, workload: str) -> int:
        return len(cards_for(self._workloads[workload], self._runner.host))

    def _run(self, task: Task, cards: tuple[Accelerator, ...]) -> Finished:
        began, finished = time.monotonic(), Finished(task)
        try:
            for _launch in self._runner.run(finished, self._schedule, cards):
                pass  # it is in the block, and on disk
        except Exception as error:  # noqa: BLE001  raised, or judged, by who waits for it
            finished.error = error
        finished.took_s = time.monotonic() - began - finished.waited_s
        return finished
