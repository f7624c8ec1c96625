"""One block: its launches, one after another, on a card nobody else measures on meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ciwm.launch.locks import CPU, card_lock
from ciwm.launch.worker_process import LOADED_NOTHING, Limits, Order, Site, run_launch

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from ciwm.bench.schedule import Schedule, Turn
    from ciwm.config import WorkloadConfig
    from ciwm.launch.flock import Flock
    from ciwm.records import Environment, Launch, Side


@dataclass
class BlockRunner:
    """Runs the blocks of one run; `lock` is the run folder's, held as long as any launch lives."""

    site: Site
    workloads: Mapping[str, WorkloadConfig]
    host: Environment
    lock: Flock
    stop: threading.Event
    say: Callable[[str], None]

    def run(self, turn: Turn, schedule: Schedule, done: int, deadline: float) -> list[Launch]:
        """The launches of one attempt; fewer than planned once it cannot count any more.

        `done` launches came before in the run; `deadline` is monotonic time. Raises DeviceError
        when the card is not free in time.
        """
        card = self._card()
        left_s = max(deadline - time.monotonic(), 0.0)
        with card_lock(card, timeout_s=left_s, on_wait=self.say, stop=self.stop) as held:
            block: list[Launch] = []
            for position, side in enumerate(turn.sides):
                if self.stop.is_set() or not _wanted(side, block, turn, schedule):
                    continue
                order = Order(
                    number=done + len(block) + 1,
                    workload=self.workloads[turn.workload],
                    side=side,
                    block=turn.block,
                    attempt=turn.attempt,
                    position=position,
                )
                limits = Limits(
                    left_s=max(deadline - time.monotonic(), 0.0),
                    stop=self.stop,
                    keep_open=(held, self.lock.fileno),
                )
                launch, _ = run_launch(order, self.site, limits)
                block.append(launch)
                self.say(describe(launch))
        return block

    def _card(self) -> str:
        """The card to lock: the first one, or the CPU of a host without any."""
        cards = self.host.accelerators
        return next((f"{c.vendor}-{c.uuid or c.index}" for c in cards), CPU)


def _wanted(side: Side, block: list[Launch], turn: Turn, schedule: Schedule) -> bool:
    """Whether a launch is still of use: once one did not end well, the block is no evidence.

    Then only a side of which nothing is known yet is launched, to see whether it runs at all.
    """
    if all(launch.exit == "ok" for launch in block):
        return True
    if any(launch.exit in ("interrupted", "lost") for launch in block):
        return False
    seen = any(launch.side == side for launch in block)
    return not seen and not schedule.has_outcome(turn.workload, side)


def describe(launch: Launch) -> str:
    """One line on a launch: where it stands, how it ended, what it measured."""
    attempt = f" (attempt {launch.attempt + 1})" if launch.attempt else ""
    head = f"{launch.workload} block {launch.block + 1}{attempt} {launch.side}: "
    took = f"{launch.duration_s:.2f} s"
    if launch.exit != "ok":
        return f"{head}{launch.exit} after {took}: {launch.detail}"
    note = f"; {launch.detail}" if launch.detail == LOADED_NOTHING else ""
    medians = [f"{one.metric} P50 {median(one.values):.4g}" for one in launch.samples[:1]]
    more = f" (+{len(launch.samples) - 1} series)" if len(launch.samples) > 1 else ""
    return f"{head}{took}, {', '.join(medians)}{more}{note}"
