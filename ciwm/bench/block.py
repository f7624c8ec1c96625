"""One block: its launches, one after another, on a card nobody else measures on meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ciwm.bench.cards import alone_on, cards_for, hidden, watched_hz
from ciwm.launch.clocks import held_clocks
from ciwm.launch.sampling import sampler
from ciwm.launch.worker_job import Order, Site
from ciwm.launch.worker_process import Limits, run_launch
from ciwm.records.run import LOADED_NOTHING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from ciwm.bench.schedule import Schedule, Turn
    from ciwm.config import BenchConfig, WorkloadConfig
    from ciwm.launch.flock import Flock
    from ciwm.records import Environment, Launch, Side


@dataclass
class BlockRunner:
    """Runs the blocks of one run; `lock` is the run folder's, held as long as any launch lives."""

    site: Site
    workloads: Mapping[str, WorkloadConfig]
    host: Environment
    lock: Flock
    bench: BenchConfig
    stop: threading.Event
    say: Callable[[str], None]
    waited_s: float = 0.0  # for the card, in all

    def run(self, turn: Turn, schedule: Schedule, last: int, deadline: float) -> list[Launch]:
        """The launches of one attempt; fewer than planned once it cannot count any more.

        `last` is the number of the run's last launch so far; `deadline` is monotonic time, and is
        put off by as long as the card was waited for. Raises DeviceError when it is not free by
        then.
        """
        workload = self.workloads[turn.workload]
        cards = cards_for(workload, self.host)
        block: list[Launch] = []
        asked = time.monotonic()
        with (
            alone_on(cards, deadline, self.say, self.stop) as held,
            held_clocks(cards, self.say),
            sampler(cards, watched_hz(workload, self.bench.telemetry_hz)) as watching,
        ):
            waited_s = time.monotonic() - asked
            self.waited_s += waited_s
            for position, side in enumerate(turn.sides):
                if self.stop.is_set() or not _wanted(side, block, turn, schedule):
                    continue
                order = Order(
                    number=last + len(block) + 1,
                    workload=workload,
                    side=side,
                    block=turn.block,
                    attempt=turn.attempt,
                    position=position,
                )
                limits = Limits(
                    left_s=max(deadline + waited_s - time.monotonic(), 0.0),
                    stop=self.stop,
                    keep_open=(*held, self.lock.fileno),
                    variables=hidden(cards, self.host),
                    sampler=watching,
                )
                launch, _ = run_launch(order, self.site, limits)
                block.append(launch)
                self.say(describe(launch, workload))
                if why := next(filter(None, schedule.void_reasons(block)), ""):
                    self.say(f"{workload.id} block {turn.block + 1} is discarded: {why}")
                    break
        return block


def _wanted(side: Side, block: list[Launch], turn: Turn, schedule: Schedule) -> bool:
    """Whether a launch is still of use: once one did not end well, the block is no evidence.

    Then only a side of which nothing is known yet is launched, to see whether it runs at all.
    """
    if not schedule.is_built(side):
        return False
    if all(launch.exit == "ok" for launch in block):
        return True
    if any(launch.exit in ("interrupted", "lost") for launch in block):
        return False
    seen = any(launch.side == side for launch in block)
    return not seen and not schedule.has_outcome(turn.workload, side)


def describe(launch: Launch, workload: WorkloadConfig, who: str = "") -> str:
    """One line on a launch of a side, or of whom it says: where it stands, how it ended."""
    attempt = f" (attempt {launch.attempt + 1})" if launch.attempt else ""
    head = f"{launch.workload} block {launch.block + 1}{attempt} {who or launch.side}: "
    took = f"{launch.duration_s:.2f} s"
    if launch.exit != "ok":
        return f"{head}{launch.exit} after {took}: {launch.detail}"
    note = f"; {launch.detail}" if launch.detail == LOADED_NOTHING else ""
    first = launch.samples[0]
    unit = workload.declared_metrics[first.metric].unit
    more = f" (+{len(launch.samples) - 1} series)" if len(launch.samples) > 1 else ""
    return f"{head}{took}, {first.metric} P50 {median(first.values):.4g} {unit}{more}{note}"
