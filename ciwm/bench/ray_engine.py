"""Blocks on the nodes of a Ray cluster: a task a block, pinned to one node with its accelerators.

Each launch comes back as it ends, and is written down here at once. A node that dies takes at most
the block that ran there with it: that is drawn anew, on another node.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.bench.block import describe
from ciwm.bench.engine import Finished
from ciwm.bench.ray_client import CANCEL_S, POLL_S, next_said, send, write_files
from ciwm.bench.ray_node import run_block
from ciwm.bench.ray_parcel import Errand
from ciwm.errors import DeviceError
from ciwm.launch.files import make_folder, write_atomically
from ciwm.launch.journal import read_journal
from ciwm.launch.worker_job import JOURNAL
from ciwm.launch.worker_process import RESULT
from ciwm.records import SIDES, Launch

if TYPE_CHECKING:
    from ciwm.bench.block import BlockRunner
    from ciwm.bench.engine import Task
    from ciwm.bench.ray_cluster import Cluster, Node
    from ciwm.bench.saved_request import SavedRequest
    from ciwm.bench.schedule import Schedule
    from ciwm.records.run import ExitReason


@dataclass
class _Running:
    """A block under way: where it runs, and since when its present launch does."""

    finished: Finished
    errand: Errand
    node: Node
    devices: int
    stream: Any
    since: float = field(default_factory=time.monotonic)
    ready: bool = False


class RayEngine:
    """Gives each block a node of its own, or as many GPUs of one node as its workload needs."""

    def __init__(
        self, cluster: Cluster, runner: BlockRunner, schedule: Schedule, asked: SavedRequest
    ) -> None:
        self._cluster = cluster
        self._ray = cluster.ray
        self._runner = runner
        self._schedule = schedule
        self._rules = asked.config.gate.void
        self._limit = asked.config.bench.blocks_at_once
        self._spared = asked.config.bench.ray.lost_blocks
        self._parcel = cluster.parcel(asked)
        self._running: dict[Any, _Running] = {}
        self._stranded: Finished | None = None  # a block for which no node is left

    def has_room(self, workload: str) -> bool:
        """Whether some node is free for a block of the workload."""
        if self._limit is not None and len(self._running) >= self._limit:
            return False
        return self._node_for(workload) is not None or not self._running

    def begin(self, task: Task) -> None:
        """Send a block to the node with the most room; without one it ends with a DeviceError."""
        node = self._node_for(task.turn.workload)
        outcomes = frozenset(
            (task.turn.workload, side)
            for side in SIDES
            if self._schedule.has_outcome(task.turn.workload, side)
        )
        errand = Errand(
            turn=task.turn,
            first=task.first,
            left_s=max(task.deadline - time.monotonic(), 0.0),
            built=tuple(side for side in SIDES if self._schedule.is_built(side)),
            outcomes=outcomes,
            batches=dict(self._runner.site.batches),
            rules=self._rules,
        )
        finished = Finished(task)
        if node is None:
            finished.error = DeviceError("no node of the Ray cluster is left for its blocks")
            self._stranded = finished
            return
        devices = node.devices(self._runner.workloads[task.turn.workload])
        stream = send(self._cluster, run_block, node, self._parcel, errand, devices=devices)
        node.used += devices
        self._running[stream] = _Running(finished, errand, node, devices, stream)

    def next_finished(self) -> Finished:
        """Take what the nodes send, and return the first block that is over."""
        cancelled = False
        while True:
            if self._stranded is not None:
                stranded, self._stranded = self._stranded, None
                return stranded
            if self._runner.stop.is_set() and not cancelled:
                self._cancel(force=False)
                cancelled = True
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=POLL_S)
            if ready and self._take_next(self._running[ready[0]]):
                return self._over(ready[0])

    def close(self) -> None:
        """Cancel what still runs, and see it end; what does not end in time is killed."""
        self._cancel(force=False)
        until = time.monotonic() + CANCEL_S
        while self._running and time.monotonic() < until:
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=POLL_S)
            if ready and self._take_next(self._running[ready[0]]):
                self._over(ready[0])
        self._cancel(force=True)
        self._running.clear()

    def _cancel(self, *, force: bool) -> None:
        for stream in self._running:
            self._ray.cancel(stream, force=force)

    def _node_for(self, workload: str) -> Node | None:
        return self._cluster.node_for(self._runner.workloads[workload])

    def _over(self, stream: Any) -> Finished:
        one = self._running.pop(stream)
        one.node.used -= one.devices
        spent = sum(launch.duration_s for launch in one.finished.launches)
        one.finished.took_s = max(spent, 0.0)
        return one.finished

    def _take_next(self, one: _Running) -> bool:
        """Take the next thing a block says; whether that was its last word."""
        said, now = next_said(self._ray, one.stream), time.monotonic()
        if said["kind"] == "ready":
            one.ready, one.since = True, now
            one.node.has_builds = True
            one.finished.waited_s += said["took_s"]  # a build is not of the launches' budget
        elif said["kind"] == "launch":
            self._keep(one, said)
            one.since = now
        elif said["kind"] == "over":
            one.finished.waited_s += said["waited_s"]
        elif said["kind"] == "cancelled":
            self._unfinished(one, "interrupted", "the run was stopped during this launch")
        elif said["kind"] == "lost":
            self._lost(one, said["message"])
        elif said["kind"] == "error":
            self._refused(one, said)
        return bool(said["last"])

    def _keep(self, one: _Running, said: dict[str, Any]) -> None:
        """Write a launch and its files down, as if it had run here."""
        launch = Launch.model_validate_json(said["launch"])
        launch = launch.model_copy(update={"node": one.node.name})
        folder = self._runner.site.directory / Path(launch.log).parent
        write_files(folder, said["files"])
        write_atomically(folder / RESULT, launch.model_dump_json() + "\n")
        if launch.exit == "ok":
            self._runner.site.keep_batches(read_journal(folder / JOURNAL).batches)
        one.finished.launches.append(launch)
        workload = self._runner.workloads[launch.workload]
        self._runner.say(f"{one.node.name}: {describe(launch, workload)}")

    def _refused(self, one: _Running, said: dict[str, Any]) -> None:
        """A node that cannot build, or whose card is held by others, gets no more blocks."""
        why = said["message"] + (f" ({said['hint']})" if said["hint"] else "")
        self._runner.say(f"node {one.node.name} gets no more blocks: {why}")
        self._cluster.leave_out(one.node)
        if not self._cluster.nodes:
            one.finished.error = DeviceError(f"no node is left; the last one: {why}")

    def _lost(self, one: _Running, why: str) -> None:
        """A node, or our process there, died: its launch is lost, the block is drawn anew."""
        self._runner.say(f"node {one.node.name} was lost during a block: {why}")
        self._unfinished(one, "lost", f"node {one.node.name} was lost during this launch")
        self._cluster.leave_out_dead()
        self._spared -= 1
        if self._spared < 0:
            one.finished.error = DeviceError(
                "more blocks were lost with their nodes than [bench] ray.lost_blocks allows"
            )

    def _unfinished(self, one: _Running, ended: ExitReason, why: str) -> None:
        """The record of the launch that was under way, if one was."""
        turn, place = one.errand.turn, len(one.finished.launches)
        if not one.ready or place >= len(turn.sides):
            return
        took_s = time.monotonic() - one.since
        launch = Launch(
            number=one.errand.first + place,
            workload=turn.workload,
            side=turn.sides[place],
            block=turn.block,
            attempt=turn.attempt,
            position=place,
            started_at=datetime.now(timezone.utc),
            duration_s=round(took_s, 6),
            exit=ended,
            detail=why,
            node=one.node.name,
        )
        name = f"launches/{launch.number:04d}-{launch.workload}-{launch.side}"
        folder = self._runner.site.directory / name
        make_folder(folder)
        launch = launch.model_copy(update={"log": f"{name}/log.txt"})
        (folder / "log.txt").touch()
        write_atomically(folder / RESULT, launch.model_dump_json() + "\n")
        one.finished.launches.append(launch)
