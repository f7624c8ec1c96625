"""A Ray cluster: which nodes of it launches may run on, and which one is next."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ciwm
from ciwm.bench.ray_client import connected, last_line
from ciwm.bench.ray_parcel import packed
from ciwm.errors import EnvironmentFailure
from ciwm.records import Environment

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Iterator, Mapping

    from ciwm.bench.block import BlockRunner
    from ciwm.bench.communication import Profiler
    from ciwm.bench.engine import Engine
    from ciwm.bench.saved_request import SavedRequest
    from ciwm.bench.schedule import Schedule
    from ciwm.config import BenchConfig, WorkloadConfig
    from ciwm.config_bench import RayConfig
    from ciwm.records import BuildRecord

CENSUS_S = 120.0  # for every node to say what it is
INSTALL = "install ciwm[ray] of the same version into the Python of every node"


@dataclass
class Node:
    """One node: its id in Ray, what people call it, and its places for devices."""

    id: str
    name: str
    places: int
    gpus: int
    used: int = 0
    has_builds: bool = False

    @property
    def free(self) -> int:
        """Devices that no block of ours is on; a node without GPUs counts as one."""
        return self.places - self.used

    def devices(self, workload: WorkloadConfig) -> int:
        """How many of its places a launch takes; a node without GPUs has one."""
        return workload.devices if self.gpus else 1


@dataclass
class Cluster:
    """The nodes of one kind of machine, on which a run's blocks are comparable."""

    ray: Any
    config: RayConfig
    nodes: list[Node]
    host: Environment
    say: Callable[[str], None]
    _parcel: Any = None

    def refuse_sick(
        self, _head: BuildRecord, _stop: threading.Event, say: Callable[[str], None]
    ) -> None:
        """Say that nodes are not probed."""
        say("[bench] probe: the nodes of a Ray cluster are not probed; see ciwm probe on a node")

    def engine(self, runner: BlockRunner, schedule: Schedule, asked: SavedRequest) -> Engine:
        """What runs the blocks of one run on the nodes."""
        from ciwm.bench.ray_engine import RayEngine  # noqa: PLC0415  it needs this module

        return RayEngine(self, runner, schedule, asked)

    def profiler(self, runner: BlockRunner, asked: SavedRequest) -> Profiler:
        """What makes the profiled launches of one run on the nodes, once its blocks are over."""
        from ciwm.bench.ray_profiler import RayProfiler  # noqa: PLC0415  it needs this module

        return RayProfiler(self, runner, asked)

    def parcel(self, asked: SavedRequest) -> Any:
        """What every task of the one run of this connection is given: packed and put once."""
        if self._parcel is None:
            self._parcel = self.ray.put(packed(asked))
        return self._parcel

    def node_for(self, workload: WorkloadConfig, tried: Collection[str] = ()) -> Node | None:
        """The node with the most room for a launch; of equal ones, one that has built the sides.

        One that was tried comes last: a node that dies counts as alive for some time.
        """
        able = [node for node in self.nodes if node.free >= node.devices(workload)]
        return max(able, key=lambda n: (n.id not in tried, n.free, n.has_builds), default=None)

    def leave_out(self, node: Node) -> None:
        """Send a node nothing more."""
        self.nodes = [each for each in self.nodes if each.id != node.id]

    def leave_out_dead(self) -> None:
        """Send nothing more to nodes that are gone."""
        alive = {each["NodeID"] for each in self.ray.nodes() if each["Alive"]}
        self.nodes = [each for each in self.nodes if each.id in alive]

    def on_node(self, node: Node, gpus: float) -> dict[str, Any]:
        """Options that pin a task to a node, with its accelerators; Ray does not run it again."""
        from ray.util.scheduling_strategies import (  # noqa: PLC0415
            NodeAffinitySchedulingStrategy,
        )

        return {
            "num_cpus": 1,
            "num_gpus": gpus,
            "resources": dict(self.config.resources) or None,
            "max_retries": 0,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(node.id, soft=False),
        }


@contextlib.contextmanager
def cluster(bench: BenchConfig, say: Callable[[str], None]) -> Iterator[Cluster]:
    """Connect to the cluster, and leave it at the end; whatever of ours runs there then ends.

    Raises EnvironmentFailure without Ray, without a cluster, and without a node to use.
    """
    # what Ray says of a node that died it prints on stdout, in the midst of what a program reads
    with contextlib.redirect_stdout(sys.stderr), _connection(bench.ray.address) as ray:
        found = Cluster(ray, bench.ray, _candidates(ray, bench.ray), _NOBODY, say)
        _keep_the_commonest_kind(found)
        yield found


@contextlib.contextmanager
def _connection(address: str) -> Iterator[Any]:
    ray = connected(address)
    try:
        yield ray
    finally:
        ray.shutdown()


def _candidates(ray: Any, config: RayConfig) -> list[Node]:
    """Living nodes that have a CPU and what is asked for; where some have GPUs, only those."""
    found = []
    for one in ray.nodes():
        has = one["Resources"]
        if one["Alive"] and has.get("CPU", 0) >= 1 and _offers(has, config.resources):
            gpus = int(has.get("GPU", 0))
            name = f"{one['NodeName']} ({one['NodeID'][:8]})"
            found.append(Node(one["NodeID"], name, max(gpus, 1), gpus))
    with_gpus = [node for node in found if node.gpus]
    if not found:
        wanted = ", ".join(f"{name}: {amount:g}" for name, amount in config.resources.items())
        raise EnvironmentFailure(
            f"no node of the Ray cluster has a CPU{f' and {wanted}' if wanted else ''}",
            "see: ray status, and [bench] ray.resources",
        )
    return with_gpus or found


def _offers(has: Mapping[str, float], wanted: Mapping[str, float]) -> bool:
    return all(has.get(name, 0) >= amount for name, amount in wanted.items())


def _keep_the_commonest_kind(found: Cluster) -> None:
    """Ask every node what it is, and keep those of the commonest kind: a run is on one kind."""
    said = _census(found)
    kinds = Counter(environment.fingerprint for _, environment in said)
    commonest = kinds.most_common(1)[0][0]
    kept = [(node, one) for node, one in said if one.fingerprint == commonest]
    found.host = kept[0][1]
    found.nodes = [node for node, _ in kept]
    for node, environment in said:
        if environment.fingerprint != commonest:
            what = found.host.diff(environment)[0]
            found.say(
                f"node {node.name} is left out: its {what.what} is {what.head}, where others' "
                f"is {what.base}"
            )
    found.say(f"{len(found.nodes)} nodes: {', '.join(node.name for node in found.nodes)}")


def _census(found: Cluster) -> list[tuple[Node, Environment]]:
    from ciwm.bench.ray_node import census  # noqa: PLC0415  heavier than this module

    task = found.ray.remote(census)
    asked = {task.options(**found.on_node(node, 0)).remote(): node for node in found.nodes}
    done, late = found.ray.wait(list(asked), num_returns=len(asked), timeout=CENSUS_S)
    for ref in late:
        found.say(f"node {asked[ref].name} is left out: it did not answer in {CENSUS_S:g} s")
        found.ray.cancel(ref)
    answers = [(asked[ref], _answer(found, asked[ref], ref)) for ref in done]
    said = [(node, answer) for node, answer in answers if answer is not None]
    if not said:
        raise EnvironmentFailure("no node of the Ray cluster can be used", INSTALL)
    return said


def _answer(found: Cluster, node: Node, ref: Any) -> Environment | None:
    """What a node said it is; None, with a line that says why, where it cannot be used."""
    try:
        answer = found.ray.get(ref)
    except found.ray.exceptions.RayError as error:
        why = last_line(error)
    else:
        if answer["version"] == ciwm.__version__ and "environment" in answer:
            return Environment.model_validate_json(answer["environment"])
        why = answer.get("error") or f"it has ciwm {answer['version']}, here is {ciwm.__version__}"
    found.say(f"node {node.name} is left out: {why}")
    return None


_NOBODY = Environment(cpu_model="", cpu_count=0, memory_bytes=0, architecture="", os="", kernel="")
