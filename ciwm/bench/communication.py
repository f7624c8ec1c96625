"""After the timing: the workloads whose communication is asked for, profiled once a side.

Where that launch is made is a profiler's to know: on this machine's cards, or on a node.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ciwm.bench.cards import alone_on, cards_for, hidden
from ciwm.errors import DeviceError
from ciwm.launch.communication import profile, unprofiled
from ciwm.launch.worker_process import Limits

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from ciwm.launch.communication import ProfileOrder
    from ciwm.launch.flock import Flock
    from ciwm.launch.worker_job import Site
    from ciwm.records import Environment
    from ciwm.records.ranks import CommunicationProfile

NO_TIME = "the budget was spent"


class Profiled(NamedTuple):
    """What came of one order; `waited_s` is not of the launches' budget, `node` where it was."""

    found: tuple[CommunicationProfile, ...]
    waited_s: float = 0.0
    node: str = ""


class Profiler(Protocol):
    """Makes profiled launches, one at a time; used by one thread."""

    def profile(self, order: ProfileOrder, deadline: float) -> Profiled:
        """The launch, which ends by the deadline (monotonic time); what went wrong is in it."""


@dataclass
class Profiling:
    """The profiled launches of one run, made until its budget is spent or it is stopped."""

    profiler: Profiler
    deadline: float
    stop: threading.Event
    say: Callable[[str], None]

    def of(self, order: ProfileOrder) -> tuple[CommunicationProfile, ...]:
        """The communication of one side of a workload, by series; nothing once we are stopped."""
        if self.stop.is_set():
            return ()
        done = self._one(order)
        self.deadline += done.waited_s
        problem = next((one.problem for one in done.found if one.problem), "")
        what = f"not measured: {problem}" if problem else "profiled"
        where = f"{done.node}: " if done.node else ""
        self.say(f"{where}{order.workload.id} {order.who}: communication {what}")
        return done.found

    def _one(self, order: ProfileOrder) -> Profiled:
        if time.monotonic() >= self.deadline:
            return Profiled(unprofiled(order, NO_TIME))
        return self.profiler.profile(order, self.deadline)


@dataclass(frozen=True)
class LocalProfiler:
    """Profiles on the cards of this machine; `lock` is the run folder's."""

    site: Site
    host: Environment
    lock: Flock
    stop: threading.Event
    say: Callable[[str], None]

    def profile(self, order: ProfileOrder, deadline: float) -> Profiled:
        """One launch, on cards that nobody else measures on meanwhile."""
        try:
            return Profiled(self._alone(order, deadline))
        except DeviceError as error:
            return Profiled(unprofiled(order, error.message))

    def _alone(self, order: ProfileOrder, deadline: float) -> tuple[CommunicationProfile, ...]:
        cards = cards_for(order.workload, self.host)
        with alone_on(cards, deadline, self.say, self.stop) as held:
            limits = Limits(
                left_s=max(deadline - time.monotonic(), 0.0),
                stop=self.stop,
                keep_open=(*held, self.lock.fileno),
                variables=hidden(cards, self.host),
            )
            return profile(order, self.site, limits)
