"""One block: its launches, one after another, on a card nobody else measures on meanwhile."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ciwm.errors import DeviceError
from ciwm.launch.locks import CPU, card_lock
from ciwm.launch.worker_job import Order, Site
from ciwm.launch.worker_process import LOADED_NOTHING, Limits, run_launch

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ciwm.bench.schedule import Schedule, Turn
    from ciwm.config import WorkloadConfig
    from ciwm.launch.flock import Flock
    from ciwm.records import Accelerator, Environment, Launch, Side


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
        workload = self.workloads[turn.workload]
        cards = cards_for(workload, self.host)
        block: list[Launch] = []
        with self._alone_on(cards, deadline) as held:
            for position, side in enumerate(turn.sides):
                if self.stop.is_set() or not _wanted(side, block, turn, schedule):
                    continue
                order = Order(
                    number=done + len(block) + 1,
                    workload=workload,
                    side=side,
                    block=turn.block,
                    attempt=turn.attempt,
                    position=position,
                )
                limits = Limits(
                    left_s=max(deadline - time.monotonic(), 0.0),
                    stop=self.stop,
                    keep_open=(*held, self.lock.fileno),
                    variables=_visible(cards, self.host),
                )
                launch, _ = run_launch(order, self.site, limits)
                block.append(launch)
                self.say(describe(launch, workload))
        return block

    @contextlib.contextmanager
    def _alone_on(self, cards: Sequence[Accelerator], deadline: float) -> Iterator[list[int]]:
        """Hold the locks of the cards, or of the CPU; in one order everywhere, so none deadlock."""
        names = sorted(f"{card.vendor}-{card.uuid or card.index}" for card in cards) or [CPU]
        with contextlib.ExitStack() as stack:
            yield [
                stack.enter_context(
                    card_lock(
                        name,
                        timeout_s=max(deadline - time.monotonic(), 0.0),
                        on_wait=self.say,
                        stop=self.stop,
                    )
                )
                for name in names
            ]


def cards_for(workload: WorkloadConfig, host: Environment) -> tuple[Accelerator, ...]:
    """The cards a workload runs on, none on a host without; DeviceError when it needs more."""
    cards = host.accelerators
    if cards and workload.devices > len(cards):
        raise DeviceError(
            f"workload {workload.id} needs {workload.devices} cards; this host shows {len(cards)}",
            "see CUDA_VISIBLE_DEVICES, or choose another runner",
        )
    return cards[: workload.devices]


def _visible(cards: Sequence[Accelerator], host: Environment) -> dict[str, str]:
    """What hides the cards that are not locked from a launch."""
    names = [card.uuid or "" for card in cards if card.vendor == "nvidia"]
    hide = len(cards) < len(host.accelerators) and all(names)
    return {"CUDA_VISIBLE_DEVICES": ",".join(names)} if hide and names else {}


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


def describe(launch: Launch, workload: WorkloadConfig) -> str:
    """One line on a launch: where it stands, how it ended, what it measured."""
    attempt = f" (attempt {launch.attempt + 1})" if launch.attempt else ""
    head = f"{launch.workload} block {launch.block + 1}{attempt} {launch.side}: "
    took = f"{launch.duration_s:.2f} s"
    if launch.exit != "ok":
        return f"{head}{launch.exit} after {took}: {launch.detail}"
    note = f"; {launch.detail}" if launch.detail == LOADED_NOTHING else ""
    first = launch.samples[0]
    unit = workload.declared_metrics[first.metric].unit
    more = f" (+{len(launch.samples) - 1} series)" if len(launch.samples) > 1 else ""
    return f"{head}{took}, {first.metric} P50 {median(first.values):.4g} {unit}{more}{note}"
