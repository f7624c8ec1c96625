"""Where blocks are run: on this machine's cards, or on the nodes of a cluster.

The order of blocks, what counts and when to stop is decided in one place, `measure`; an engine is
told to begin a block and says when it is done. Several may run side by side, each on cards, or a
node, of its own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ciwm.bench.schedule import Turn
    from ciwm.records import Launch


@dataclass(frozen=True)
class Task:
    """One block to run: its turn, the number of its first launch, until when (monotonic time)."""

    turn: Turn
    first: int
    deadline: float


@dataclass
class Finished:
    """A block that is over: its launches (none where it never got a card), and what went wrong.

    `waited_s` is how long it waited for a card, `took_s` how long it ran besides.
    """

    task: Task
    launches: list[Launch] = field(default_factory=list)
    took_s: float = 0.0
    waited_s: float = 0.0
    error: Exception | None = None


class Queue:
    """Blocks under way, which are taken in the order they were begun, workload by workload.

    That in which they ended may depend on what they measured.
    """

    def __init__(self) -> None:
        self.waiting: list[Task] = []
        self._ended: dict[int, Finished] = {}

    def begun(self, task: Task) -> None:
        """A block has begun."""
        self.waiting.append(task)

    def over(self, finished: Finished) -> list[Finished]:
        """A block is over; those that can be taken now."""
        self._ended[finished.task.first] = finished
        running: set[str] = set()
        ready = []
        for task in list(self.waiting):
            if task.first not in self._ended:
                running.add(task.turn.workload)
            elif task.turn.workload not in running:
                self.waiting.remove(task)
                ready.append(self._ended.pop(task.first))
        return ready


class Engine(Protocol):
    """Runs blocks; used by one thread."""

    def has_room(self, workload: str) -> bool:
        """Whether a block of the workload could begin now."""

    def begin(self, task: Task) -> None:
        """Start a block, for which there is room."""

    def next_finished(self) -> Finished:
        """Wait for one of the blocks that were begun."""

    def close(self) -> None:
        """End what still runs, and leave nothing behind."""


class Halt(threading.Event):
    """Set when the user's `stop` is, or when this itself is: blocks end, the run may go on."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__()
        self._stop = stop

    def is_set(self) -> bool:
        """Whether either is set."""
        return self._stop.is_set() or super().is_set()
