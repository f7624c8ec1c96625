"""A Ray cluster: which nodes of it blocks may run on, and the connection to it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ciwm
from ciwm.errors import EnvironmentFailure
from ciwm.records import Environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ciwm.bench.block import BlockRunner
    from ciwm.bench.engine import Engine
    from ciwm.bench.saved_request import SavedRequest
    from ciwm.bench.schedule import Schedule
    from ciwm.config import BenchConfig
    from ciwm.config_bench import RayConfig
    from ciwm.records import BuildRecord

CENSUS_S = 120.0  # for every node to say what it is
CONNECT_S = 10.0
INSTALL = "install ciwm[ray] of the same version into the Python of every node"


@dataclass
class Node:
    """One node: its id in Ray, what people call it, and its places for devices."""

    id: str
    name: str
    places: int
    gpus: int
    used: int = 0

    @property
    def free(self) -> int:
        """Devices that no block of ours is on; a node without GPUs counts as one."""
        return self.places - self.used


@dataclass
class Cluster:
    """The nodes of one kind of machine, on which a run's blocks are comparable."""

    ray: Any
    config: RayConfig
    nodes: list[Node]
    host: Environment
    say: Callable[[str], None]

    def refuse_sick(
        self, _head: BuildRecord, _stop: threading.Event, say: Callable[[str], None]
    ) -> None:
        """Say that nodes are not probed."""
        say("[bench] probe: the nodes of a Ray cluster are not probed; see ciwm probe on a node")

    def engine(self, runner: BlockRunner, schedule: Schedule, asked: SavedRequest) -> Engine:
        """What runs the blocks of one run on the nodes."""
        from ciwm.bench.ray_engine import RayEngine  # noqa: PLC0415  it needs this module

        return RayEngine(self, runner, schedule, asked)

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
    ray = _connected(bench.ray.address)
    try:
        found = Cluster(ray, bench.ray, _candidates(ray, bench.ray), _NOBODY, say)
        _keep_the_commonest_kind(found)
        yield found
    finally:
        ray.shutdown()


def _connected(address: str) -> Any:
    try:
        import ray  # noqa: PLC0415  an extra
    except ImportError as error:
        raise EnvironmentFailure(
            'engine = "ray" needs Ray, which is not installed', "pip install 'ciwm[ray]'"
        ) from error
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns at each task
    try:
        _refuse_silence(address)
        with _our_signals():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        words = " ".join(str(error).split())[:200]
        raise EnvironmentFailure(
            f"cannot reach the Ray cluster {address!r}: {words}",
            "start one (ray start --head), or name it: [bench] ray.address",
        ) from error
    return ray


def _refuse_silence(address: str) -> None:
    """Raise OSError where nobody listens at HOST:PORT; Ray would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()


@contextlib.contextmanager
def _our_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; ours stops a run so that nothing is lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


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
        why = _last_line(str(error).splitlines())
    else:
        if answer["version"] == ciwm.__version__ and "environment" in answer:
            return Environment.model_validate_json(answer["environment"])
        why = answer.get("error") or f"it has ciwm {answer['version']}, here is {ciwm.__version__}"
    found.say(f"node {node.name} is left out: {why}")
    return None


def _last_line(lines: Sequence[str]) -> str:
    return next((line.strip() for line in reversed(lines) if line.strip()), "no message")


_NOBODY = Environment(cpu_model="", cpu_count=0, memory_bytes=0, architecture="", os="", kernel="")
