"""Profiled launches on the nodes of a Ray cluster: a task a launch, pinned to a node as a block is.

What is lost with its node is tried once more, on another node where there is one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ciwm.bench.communication import NO_TIME, Profiled
from ciwm.bench.ray_client import CANCEL_S, POLL_S, next_said, send, write_files
from ciwm.bench.ray_node import run_profile
from ciwm.bench.ray_parcel import ProfileErrand
from ciwm.launch.communication import unprofiled
from ciwm.records import SIDES
from ciwm.records.ranks import CommunicationProfile

if TYPE_CHECKING:
    from ciwm.bench.block import BlockRunner
    from ciwm.bench.ray_cluster import Cluster, Node
    from ciwm.bench.saved_request import SavedRequest
    from ciwm.launch.communication import ProfileOrder

TRIES = 2
NO_NODE = "no node of the Ray cluster is left for it"
STOPPED = "interrupted: the run was stopped"


@dataclass
class _Task:
    """A profiled launch under way; unless it says more by `until`, it is cancelled, then killed."""

    order: ProfileOrder
    node: Node
    stream: Any
    deadline: float
    until: float
    lost: str  # how, where nothing comes of it
    begun_at: float = 0.0
    built_s: float = 0.0
    found: tuple[CommunicationProfile, ...] = ()
    ended_by_us: str = ""  # why


class RayProfiler:
    """Sends profiled launches to nodes, and writes down here what comes back."""

    def __init__(self, cluster: Cluster, runner: BlockRunner, asked: SavedRequest) -> None:
        self._cluster = cluster
        self._ray = cluster.ray
        self._runner = runner
        self._built = tuple(side for side in SIDES if asked.builds[side].ok)
        self._parcel = cluster.parcel(asked)

    def profile(self, order: ProfileOrder, deadline: float) -> Profiled:
        """One launch on some node; builds there are not of its time."""
        built_s, why = 0.0, NO_NODE
        tried: list[str] = []
        while len(tried) < TRIES and (node := self._cluster.node_for(order.workload, tried)):
            tried.append(node.id)
            task = self._sent(order, node, deadline + built_s)
            self._heard_out(task)
            built_s += task.built_s
            if task.found:
                return Profiled(task.found, built_s, node.name)
            if task.ended_by_us:
                return Profiled(unprofiled(order, task.ended_by_us), built_s, node.name)
            why = task.lost
        return Profiled(unprofiled(order, why), built_s)

    def _sent(self, order: ProfileOrder, node: Node, deadline: float) -> _Task:
        left_s = max(deadline - time.monotonic(), 0.0)
        errand = ProfileErrand(order.workload.id, order.side, left_s, self._built)
        devices = node.devices(order.workload)
        stream = send(self._cluster, run_profile, node, self._parcel, errand, devices=devices)
        silent = f"node {node.name} said nothing of it"
        return _Task(order, node, stream, deadline, until=deadline, lost=silent)

    def _heard_out(self, task: _Task) -> None:
        """Take what a task says until it is over."""
        while True:
            ready, _ = self._ray.wait([task.stream], num_returns=1, timeout=POLL_S)
            if ready:
                said = next_said(self._ray, task.stream)
                self._hear(task, said)
                if said["last"]:
                    return
            elif self._was_killed(task):
                return

    def _hear(self, task: _Task, said: dict[str, Any]) -> None:
        kind, now = said["kind"], time.monotonic()
        if kind == "begun" and not task.ended_by_us:
            task.begun_at, task.until = now, math.inf  # builds are not of the launches' budget
        elif kind == "ready" and not task.ended_by_us:
            task.built_s, task.node.has_builds = said["took_s"], True
            # by then it has ended by itself, and said how, unless it waited for the node
            task.until = task.deadline + now - task.begun_at + CANCEL_S
        elif kind == "profiles":
            self._keep(task, said)
        elif kind == "lost":
            self._lost(task, said["message"])
        elif kind == "error":
            self._refused(task, said["message"])

    def _was_killed(self, task: _Task) -> bool:
        """Cancel a task that should end; whether its process was killed, as it did not."""
        if task.ended_by_us:
            if time.monotonic() < task.until:
                return False
            self._ray.cancel(task.stream, force=True)
            return True
        if self._runner.stop.is_set():
            task.ended_by_us = STOPPED
        elif time.monotonic() >= task.until:
            task.ended_by_us = NO_TIME
        if task.ended_by_us:
            self._ray.cancel(task.stream, force=False)
            task.until = time.monotonic() + CANCEL_S
        return False

    def _keep(self, task: _Task, said: dict[str, Any]) -> None:
        write_files(self._runner.site.directory / task.order.folder, said["files"])
        task.found = tuple(map(CommunicationProfile.model_validate_json, said["profiles"]))

    def _lost(self, task: _Task, why: str) -> None:
        """The node, or our process there, died."""
        name = task.node.name
        self._runner.say(f"node {name} was lost during a profiled launch: {why}")
        task.lost = f"node {name} was lost during this launch"
        self._cluster.leave_out_dead()

    def _refused(self, task: _Task, why: str) -> None:
        """The node cannot build, or have the files of the workload."""
        self._runner.say(f"node {task.node.name} gets no profiled launch: {why}")
        task.lost = f"node {task.node.name}: {why}"
        self._cluster.leave_out(task.node)
