"""One block: its launches, one after another, on a card nobody else measures on meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Protocol

from ciwm.bench.cards import alone_on, hidden, watched_hz
from ciwm.launch.clocks import held_clocks
from ciwm.launch.sampling import sampler
from ciwm.launch.worker_job import Order, Site
from ciwm.launch.worker_process import Limits, run_launch
from ciwm.records.run import LOADED_NOTHING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ciwm.bench.engine import Finished
    from ciwm.bench.schedule import Turn
    from ciwm.config import BenchConfig, WorkloadConfig
    from ciwm.launch.flock import Flock
    from ciwm.records import Accelerator, Environment, Launch, Side


class Known(Protocol):
    """What is known of the sides by now; the schedule knows it."""

    def is_built(self, side: Side) -> bool:
        """Whether a side has a build that can be launched."""

    def has_outcome(self, workload: str, side: Side) -> bool:
        """Whether some launch already showed whether a side runs."""

    def void_reasons(self, block: Sequence[Launch]) -> tuple[str, ...]:
        """For each launch what made it void, so that its whole block will not count."""


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

    def run(self, block: Finished, known: Known, cards: Sequence[Accelerator]) -> Iterator[Launch]:
        """Run one attempt, launch by launch, and put each into the block as it ends.

        There are fewer than planned once it cannot count any more. The deadline is put off by as
        long as the cards were waited for. Raises DeviceError when they are not free by then.
        """
        turn, deadline = block.task.turn, block.task.deadline
        workload = self.workloads[turn.workload]
        asked = time.monotonic()
        with (
            alone_on(cards, deadline, self.say, self.stop) as held,
            held_clocks(cards, self.say),
            sampler(cards, watched_hz(workload, self.bench.telemetry_hz)) as watching,
        ):
            block.waited_s = waited_s = time.monotonic() - asked
            for position, side in enumerate(turn.sides):
                if self.stop.is_set() or not _wanted(side, block.launches, turn, known):
                    continue
                order = Order(
                    number=block.task.first + len(block.launches),
                    workload=workload,
                    side=side,
                    block=turn.block,
                    attempt=turn.attempt,
                    position=position,
                    cards=tuple(card.index for card in cards),
                )
                limits = Limits(
                    left_s=max(deadline + waited_s - time.monotonic(), 0.0),
                    stop=self.stop,
                    keep_open=(*held, self.lock.fileno),
                    variables=hidden(cards, self.host),
                    sampler=watching,
                )
                launch, _ = run_launch(order, self.site, limits)
                block.launches.append(launch)
                self.say(describe(launch, workload))
                yield launch
                if why := next(filter(None, known.void_reasons(block.launches)), ""):
                    self.say(f"{workload.id} block {turn.block + 1} is discarded: {why}")
                    break


def _wanted(side: Side, block: list[Launch], turn: Turn, known: Known) -> bool:
    """Whether a launch is still of use: once one did not end well, the block is no evidence.

    Then only a side of which nothing is known yet is launched, to see whether it runs at all.
    """
    if not known.is_built(side):
        return False
    if all(launch.exit == "ok" for launch in block):
        return True
    if any(launch.exit in ("interrupted", "lost") for launch in block):
        return False
    seen = any(launch.side == side for launch in block)
    return not seen and not known.has_outcome(turn.workload, side)


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
