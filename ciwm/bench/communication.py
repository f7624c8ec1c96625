"""After the timing: the workloads whose communication is asked for, profiled once a side."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.bench.cards import alone_on, cards_for, hidden
from ciwm.errors import DeviceError
from ciwm.launch.communication import profile, unprofiled
from ciwm.launch.worker_process import Limits

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from ciwm.config import WorkloadConfig
    from ciwm.launch.flock import Flock
    from ciwm.launch.worker_job import Site
    from ciwm.records import Environment, Side
    from ciwm.records.ranks import CommunicationProfile

ON_NODES = "blocks ran on the nodes of a Ray cluster, where nothing is profiled"
NO_TIME = "the budget was spent"


@dataclass(frozen=True)
class Profiling:
    """What profiling launches share; `lock` is the run folder's, `deadline` monotonic time."""

    site: Site
    host: Environment
    lock: Flock
    engine: str
    deadline: float
    stop: threading.Event
    say: Callable[[str], None]

    def of(
        self, workloads: Sequence[WorkloadConfig], sides: Sequence[Side]
    ) -> Iterator[CommunicationProfile]:
        """The communication of those that ask for it; of the others nothing."""
        for workload in workloads:
            for side in sides if workload.communication_share else ():
                if self.stop.is_set():
                    return
                found = self._one(workload, side)
                problem = next((one.problem for one in found if one.problem), "")
                what = f"not measured: {problem}" if problem else "profiled"
                self.say(f"{workload.id} {side}: communication {what}")
                yield from found

    def _one(self, workload: WorkloadConfig, side: Side) -> tuple[CommunicationProfile, ...]:
        if self.engine != "local":
            return unprofiled(workload, side, ON_NODES)
        if time.monotonic() >= self.deadline:
            return unprofiled(workload, side, NO_TIME)
        cards = cards_for(workload, self.host)
        try:
            with alone_on(cards, self.deadline, self.say, self.stop) as held:
                limits = Limits(
                    left_s=max(self.deadline - time.monotonic(), 0.0),
                    stop=self.stop,
                    keep_open=(*held, self.lock.fileno),
                    variables=hidden(cards, self.host),
                )
                return profile(workload, side, self.site, limits)
        except DeviceError as error:
            return unprofiled(workload, side, error.message)
