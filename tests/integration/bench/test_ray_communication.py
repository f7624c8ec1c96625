"""Profiled launches on a real Ray cluster: two gloo ranks under torchrun, on one node of three."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.bench.block import BlockRunner
from ciwm.bench.communication import NO_TIME, Profiling
from ciwm.bench.measure import measure
from ciwm.bench.ray_cluster import cluster
from ciwm.bench.saved_request import saved
from ciwm.config import BuildConfig
from ciwm.launch.communication import profile_order
from ciwm.launch.flock import Flock
from ciwm.launch.worker_job import Site
from tests.fork import workload
from tests.integration.bench.ray_bed import BUILD, built_on, on_cluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ciwm.bench.plan import BenchRequest
    from ciwm.bench.ray_cluster import Cluster
    from ciwm.config import WorkloadConfig
    from ciwm.records.ranks import CommunicationProfile
    from tests.fork import Fork
    from tests.integration.bench.ray_bed import Nodes

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("ignore")]  # Ray's own, in this process

# a rank says where it is, and waits for the test before its first step where it is told to
STEPS = """
import os, time, framework
import torch, torch.distributed as dist

def setup():
    dist.init_process_group("gloo")
    marks = os.environ["MARKS"]
    open(f"{marks}/pid-{os.getpid()}", "w").close()
    open(f"{marks}/at-{os.path.basename(os.environ['CIWM_CACHE_DIR'])}", "w").close()
    while os.path.exists(f"{marks}/wait"):
        time.sleep(0.1)
    return torch.ones(100_000)

def step(state):
    time.sleep(float(os.environ["STEP_S"]))
    dist.all_reduce(state.clone())

def teardown(state):
    dist.destroy_process_group()
"""
SHARED: dict[str, Any] = {"devices": 2, "communication_share": True, "iterations": 2}


def asked(fork: Fork, nodes: Nodes, one: WorkloadConfig) -> BenchRequest:
    base = fork.commit({"bench/steps.py": STEPS})
    head = fork.commit({"framework/more.py": ""})
    recipe = BuildConfig(command=BUILD)
    request = fork.request(base, head, one, recipe=recipe, gate={"max_launches": 4})
    return on_cluster(request, nodes.address)


class Controller:
    """What profiles on the nodes, without blocks before it."""

    def __init__(self, fork: Fork, request: BenchRequest, found: Cluster) -> None:
        self.said = fork.said
        self.cluster = found
        self.stop = threading.Event()
        (self.workload,) = request.config.workload
        path = request.directory
        path.mkdir()
        self._asked = saved(request, "x", datetime.now(timezone.utc), found.host)
        self._runner = BlockRunner(
            site=Site(
                directory=path,
                checkout=fork.path,
                builds=self._asked.builds,
                sources={"base": path, "head": path},
                python_path=(".",),
            ),
            workloads={self.workload.id: self.workload},
            host=found.host,
            lock=Flock(path / ".lock"),
            bench=request.config.bench,
            stop=self.stop,
            say=self.said.append,
        )

    def profiled(self, left_s: float = 300) -> CommunicationProfile | None:
        """What came of profiling head; None once stopped before it."""
        profiler = self.cluster.profiler(self._runner, self._asked)
        until = time.monotonic() + left_s
        profiling = Profiling(profiler, until, self.stop, self.said.append)
        return next(iter(profiling.of(profile_order(self.workload, "head"))), None)


@contextmanager
def controller(fork: Fork, nodes: Nodes) -> Iterator[Controller]:
    request = asked(fork, nodes, workload("w", **SHARED))
    with cluster(request.config.bench, fork.said.append) as found:
        yield Controller(fork, request, found)


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do something beside what the test waits for; what goes wrong there fails the test."""
    wrong: list[Exception] = []

    def acting() -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001  it is raised again below
            wrong.append(error)

    thread = threading.Thread(target=acting)
    thread.start()
    yield
    thread.join()
    if wrong:
        raise wrong[0]


def place_of_ranks(nodes: Nodes, but: tuple[int, ...] = ()) -> int:
    """The number of the node that ranks are on by now, or will be; others are known already."""
    return int(_wait_for(nodes.marks, [f"at-node-{n}" for n in range(3) if n not in but])[-1])


def _wait_for(folder: Path, names: list[str]) -> str:
    until = time.monotonic() + 200
    while time.monotonic() < until:
        for name in names:
            if (folder / name).exists():
                return name
        time.sleep(0.1)
    raise TimeoutError(f"none of {', '.join(names)} in {folder}")


def test_each_side_is_profiled_on_one_node_by_the_builds_that_its_blocks_made(
    fork: Fork, nodes: Nodes
) -> None:
    request = asked(fork, nodes, workload("w", **SHARED))

    run = measure(request, stop=threading.Event(), on_progress=fork.said.append)

    assert run.complete, run.stopped_because
    assert [(one.series, one.side, one.problem) for one in run.communication] == [
        ("w", "base", ""),
        ("w", "head", ""),
    ]
    for one in run.communication:
        assert one.device == "cpu"
        assert [rank.rank for rank in one.ranks] == [0, 1]
        assert all(0 < rank.exposed_s <= rank.total_s < rank.step_s for rank in one.ranks)
        folder = fork.runs / "run" / "profiles" / f"w-{one.side}"
        assert '"kind":"profile"' in (folder / "journal.1.jsonl").read_text().replace(" ", "")
        assert (folder / "job.json").is_file()
        assert (folder / "log.txt").is_file()
    told = [line for line in fork.said if line.endswith("communication profiled")]
    assert len({line.partition(": ")[0] for line in told}) == 1  # both on one node
    assert told[0].partition(": ")[0] in {launch.node for launch in run.launches}
    assert set(built_on(nodes).values()) == {2}  # each side once where it was built
    assert {launch.number for launch in run.launches} == set(range(1, len(run.launches) + 1))


def test_what_is_lost_with_its_node_is_profiled_on_another(fork: Fork, nodes: Nodes) -> None:
    (nodes.marks / "wait").touch()
    first: list[int] = []

    def kill_the_first() -> None:
        first.append(place_of_ranks(nodes))
        nodes.kill(nodes.name(first[0]))
        (nodes.marks / "wait").unlink()

    with controller(fork, nodes) as here, meanwhile(kill_the_first):
        found = here.profiled()

    assert found is not None
    assert found.problem == ""
    assert len(found.ranks) == 2
    assert nodes.number(fork.said[-1].partition(":")[0]) != first[0]
    assert any("was lost during a profiled launch" in line for line in fork.said)


def test_what_is_lost_twice_is_not_measured_and_the_node_is_named(fork: Fork, nodes: Nodes) -> None:
    (nodes.marks / "wait").touch()
    killed: list[int] = []

    def kill_two() -> None:
        for _ in range(2):
            killed.append(place_of_ranks(nodes, but=tuple(killed)))
            nodes.kill(nodes.name(killed[-1]))

    with controller(fork, nodes) as here, meanwhile(kill_two):
        found = here.profiled()

    assert found is not None
    assert found.ranks == ()
    assert nodes.name(killed[1]) in found.problem
    assert found.problem.endswith("was lost during this launch")
    assert fork.said[-1] == f"w head: communication not measured: {found.problem}"


def test_a_stopped_run_leaves_no_profiled_launch_behind(fork: Fork, nodes: Nodes) -> None:
    (nodes.marks / "wait").touch()  # for ever

    with controller(fork, nodes) as here:

        def stop() -> None:
            place_of_ranks(nodes)
            here.stop.set()

        with meanwhile(stop):
            found = here.profiled()
        assert nodes.alive() == []
        assert here.profiled() is None

    assert found is not None
    assert found.problem == "interrupted: the run was stopped"


def test_the_budget_ends_a_launch_that_waits_for_a_busy_node(fork: Fork, nodes: Nodes) -> None:
    with controller(fork, nodes) as here:
        ray, there = here.cluster.ray, here.cluster.nodes

        def work(mark: str) -> None:
            open(mark, "w").close()  # noqa: PTH123  it runs where nothing is imported
            time.sleep(300)

        hog = ray.remote(work)
        marks = [nodes.marks / f"hog-{n}" for n in range(len(there))]
        held = [
            hog.options(**here.cluster.on_node(node, 0)).remote(str(mark))
            for node, mark in zip(there, marks, strict=True)
        ]
        for mark in marks:
            _wait_for(nodes.marks, [mark.name])
        began = time.monotonic()

        found = here.profiled(left_s=3)

        assert time.monotonic() - began < 60
        for one in held:
            ray.cancel(one, force=True)

    assert found is not None
    assert found.problem == NO_TIME
    assert list(nodes.marks.glob("at-*")) == []


def test_a_budget_that_ends_during_the_launch_is_told_by_the_node(fork: Fork, nodes: Nodes) -> None:
    (nodes.marks / "wait").touch()  # for ever

    with controller(fork, nodes) as here:
        found = here.profiled(left_s=30)

    assert found is not None
    assert found.problem == "the budget was spent during this launch"
    assert nodes.alive() == []


def test_a_node_that_cannot_build_is_not_tried_again_and_the_reason_is_told(
    fork: Fork, nodes: Nodes
) -> None:
    recipe = BuildConfig(command='case "$CIWM_CACHE_DIR" in */node-?) exit 7;; esac')
    head = fork.commit({"bench/steps.py": STEPS})
    request = fork.request(head, head, workload("w", **SHARED), recipe=recipe)
    request = on_cluster(request, nodes.address)

    with cluster(request.config.bench, fork.said.append) as found:
        here = Controller(fork, request, found)
        told = here.profiled()
        assert len(found.nodes) == 1  # two were tried

    assert told is not None
    assert "does not build there (failed)" in told.problem
