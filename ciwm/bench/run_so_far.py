"""What a run has measured by now, and the Run record that it makes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.launch.journal import read_journal
from ciwm.launch.worker_job import JOURNAL
from ciwm.records import SIDES, Arm, Run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ciwm.bench.saved_request import SavedRequest
    from ciwm.records import Launch, Plan, Side
    from ciwm.records.ranks import CommunicationProfile


def taken_s(launches: Iterable[Launch]) -> float:
    """Seconds in which any of them ran: launches on several cards at once take no more than one."""
    total, until = 0.0, None
    for begun, took_s in sorted((launch.started_at, launch.duration_s) for launch in launches):
        ended = begun + timedelta(seconds=took_s)
        if until is None or ended > until:
            total += (ended - max(begun, until or begun)).total_seconds()
            until = ended
    return total


def batches_of(directory: Path, launches: Iterable[Launch]) -> dict[str, int]:
    """The calls that made a sample, by series, in the first launch of each workload."""
    first: dict[str, Launch] = {}
    for one in sorted(launches, key=lambda launch: launch.number):
        if one.exit == "ok":
            first.setdefault(one.workload, one)
    journals = (directory / Path(one.log).parent / JOURNAL for one in first.values())
    return {
        series: size for path in journals for series, size in read_journal(path).batches.items()
    }


class RunSoFar:
    """Launches in order, what they say of their software, and the profiles after them."""

    def __init__(self, directory: Path, asked: SavedRequest, plan: Plan) -> None:
        self._directory = directory
        self._asked = asked
        self._plan = plan
        self._software = dict.fromkeys(SIDES, asked.environment)
        self.launches: list[Launch] = []
        self.communication: tuple[CommunicationProfile, ...] = ()

    def add(self, launches: Iterable[Launch]) -> None:
        """Take launches; blocks may end in another order than they were begun in."""
        more = list(launches)
        self.launches = sorted([*self.launches, *more], key=lambda launch: launch.number)
        for launch in more:
            self._learn_software(launch)

    def _learn_software(self, launch: Launch) -> None:
        """Interpreter and framework of a side, as its first launch that says so reports them."""
        known = self._software[launch.side]
        if known.interpreter is not None and known.torch is not None:
            return
        journal = read_journal(self._directory / Path(launch.log).parent / JOURNAL)
        self._software[launch.side] = known.model_copy(
            update={
                "interpreter": known.interpreter or journal.interpreter,
                "torch": known.torch or journal.torch,
                "torch_build": known.torch_build or journal.torch_build,
                "collective_library": known.collective_library or journal.collective_library,
            }
        )

    @property
    def unbuilt(self) -> str:
        """Which side has no build, and why; empty when both have one."""
        builds = self._asked.builds
        arms = ((side, builds[side]) for side in SIDES)
        return "; ".join(f"{s} did not build ({b.status})" for s, b in arms if not b.ok)

    def record(self, why: str, *, complete: bool, ended_at: datetime | None = None) -> Run:
        """The Run, with the reason for its end, or for its not having ended yet."""
        return Run(
            id=self._asked.id,
            started_at=self._asked.started_at,
            ended_at=ended_at,
            plan=self._plan,
            base=self._arm("base"),
            head=self._arm("head"),
            launches=tuple(self.launches),
            communication=self.communication,
            complete=complete,
            stopped_because=why,
        )

    def _arm(self, side: Side) -> Arm:
        build = self._asked.builds[side]
        return Arm(revision=build.revision, build=build, environment=self._software[side])
