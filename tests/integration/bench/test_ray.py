"""Blocks on a real Ray cluster of three nodes."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.bench.measure import measure
from ciwm.config import BuildConfig
from ciwm.errors import ConfigError, EnvironmentFailure
from ciwm.records import Run, read_record
from tests.fork import exits, workload
from tests.integration.bench.ray_bed import BUILD, HEAT_C, ROOT, built_on, on_cluster
from tests.need import missing
from tests.nvml import HW_THERMAL

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.bench.plan import BenchRequest
    from tests.fork import Fork
    from tests.integration.bench.ray_bed import Nodes

STEP = (
    "import os, time, framework\n"
    "def setup():\n"
    "    marks = os.environ['MARKS']\n"
    "    open(f'{marks}/pid-{os.getpid()}', 'w').close()\n"
    "def step(state): time.sleep(float(os.environ['STEP_S'])); framework.work()\n"
)

on_a_cluster = pytest.mark.heavy
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, in this process


def on_ray(fork: Fork, nodes: Nodes, *names: str, **gate: Any) -> BenchRequest:
    base = fork.commit({"bench/steps.py": STEP})
    head = fork.commit({"framework/more.py": ""})
    request = fork.request(
        base,
        head,
        *[workload(name) for name in names],
        gate=gate,
        recipe=BuildConfig(command=BUILD),
    )
    return on_cluster(request, nodes.address)


def configured(fork: Fork, nodes: Nodes) -> None:
    """A checkout whose own configuration sends its blocks to the cluster."""
    fork.commit(
        {
            "bench/steps.py": STEP,
            "ciwm.toml": "[[workload]]\nid = 'w'\npython = 'bench/steps.py:step'\n"
            f"[bench]\nengine = 'ray'\nray.address = '{nodes.address}'\n",
        }
    )


class Killer:
    """Hears of a run, and kills the node of the first launch that it hears of."""

    def __init__(self, fork: Fork, nodes: Nodes) -> None:
        self.fork = fork
        self.nodes = nodes
        self.killed = ""

    def __call__(self, line: str) -> None:
        self.fork.said.append(line)
        if " block " in line and ": " in line and not self.killed and "lost" not in line:
            self.killed = line.partition(":")[0]
            self.nodes.kill(self.killed)


def blocks(run: Run) -> list[list[Any]]:
    found: dict[tuple[str, int, int], list[Any]] = {}
    for one in run.launches:
        found.setdefault((one.workload, one.block, one.attempt), []).append(one)
    return list(found.values())


@on_a_cluster
def test_a_node_that_dies_costs_one_block_and_the_run_completes(fork: Fork, nodes: Nodes) -> None:
    hears = Killer(fork, nodes)

    run = measure(on_ray(fork, nodes, "a", "b", "c"), stop=threading.Event(), on_progress=hears)

    assert run.complete, run.stopped_because
    assert [one.exit for one in run.launches].count("lost") == 1
    (lost,) = [one for one in run.launches if one.exit == "lost"]
    assert lost.node == hears.killed
    whole = [block for block in blocks(run) if len(block) == 4]
    assert len(whole) == 6
    for block in whole:
        assert {one.exit for one in block} == {"ok"}
        assert len({one.node for one in block}) == 1
    assert len({one.node for one in run.launches}) == 3
    built = built_on(nodes)
    assert {name: count for name, count in built.items() if count != 2} == {}
    assert len(built) == 4  # the controller's own, and each node's
    assert read_record(fork.runs / "run" / "run.json", Run) == run
    for one in run.launches:
        folder = (fork.runs / "run" / one.log).parent
        assert (folder / "result.json").is_file()
        assert one.exit == "lost" or (folder / "journal.jsonl").is_file()


@on_a_cluster
def test_each_launch_carries_the_telemetry_of_its_own_node_and_a_lost_one_of_none(
    fork: Fork, nodes_with_cards: Nodes
) -> None:
    nodes = nodes_with_cards
    hears = Killer(fork, nodes)

    run = measure(on_ray(fork, nodes, "a", "b", "c"), stop=threading.Event(), on_progress=hears)

    assert run.complete, run.stopped_because
    assert len({one.node for one in run.launches}) == 3
    for one in run.launches:
        if one.exit == "lost":
            assert one.node == hears.killed
            assert (one.telemetry, one.host, one.telemetry_problem) == ((), None, "")
            continue
        assert one.telemetry_problem == ""
        (card,) = one.telemetry
        assert card.temperature_max_c == HEAT_C + nodes.number(one.node)
        assert card.readings >= 2
        assert one.host is not None
        lines = (fork.runs / "run" / one.log).parent / "telemetry.jsonl"
        assert '"kind":"end"' in lines.read_text()
    assert [one.exit for one in run.launches].count("lost") == 1


@on_a_cluster
def test_a_throttle_on_one_node_voids_blocks_of_that_node_only(
    fork: Fork, nodes_with_cards: Nodes
) -> None:
    nodes = nodes_with_cards
    hot_id, hot = next(iter(nodes.cards.items()))
    hot.set(reasons=HW_THERMAL)

    run = measure(on_ray(fork, nodes, "a"), stop=threading.Event(), on_progress=fork.said.append)

    reasons = {one.node: one.telemetry[0].throttle_reasons for one in run.launches if one.telemetry}
    assert any(hot_id[:8] not in name for name in reasons)
    for name, found in reasons.items():
        assert found == (("hw_thermal_slowdown",) if hot_id[:8] in name else ())


@on_a_cluster
def test_a_stopped_run_leaves_no_task_behind_and_keeps_what_was_measured(
    fork: Fork, nodes: Nodes
) -> None:
    stop = threading.Event()

    def say(line: str) -> None:
        fork.said.append(line)
        if " block " in line:
            stop.set()

    run = measure(on_ray(fork, nodes, "a"), stop=stop, on_progress=say)

    assert not run.complete
    assert "ok" in exits(run, "base") + exits(run, "head")
    assert {one.exit for one in run.launches} <= {"ok", "interrupted"}
    assert nodes.alive() == []


@on_a_cluster
@pytest.mark.parametrize("step_s", [0.2])
def test_a_record_that_is_printed_has_no_word_of_ray_before_it(
    fork: Fork, nodes: Nodes, tmp_path: Path
) -> None:
    configured(fork, nodes)
    command = ["bench", "HEAD", "HEAD", "--json", "--out", str(tmp_path / "out")]
    with (
        (tmp_path / "printed").open("w") as out,
        subprocess.Popen(
            [sys.executable, "-m", "ciwm", *command],
            cwd=fork.path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        ) as child,
    ):
        assert child.stderr
        heard = Killer(fork, nodes)
        for line in child.stderr:
            heard(line.removeprefix("ciwm: "))
    printed = (tmp_path / "printed").read_text()

    assert "lost" in "".join(fork.said)
    assert printed == Run.model_validate_json(printed).to_json()


@on_a_cluster
@pytest.mark.parametrize("step_s", [5.0])
def test_a_controller_that_is_killed_leaves_no_task_behind(
    fork: Fork, nodes: Nodes, tmp_path: Path
) -> None:
    configured(fork, nodes)
    child = subprocess.Popen(
        [sys.executable, "-m", "ciwm", "bench", "HEAD", "HEAD", "--out", str(tmp_path / "out")],
        cwd=fork.path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    began = time.monotonic()
    while not nodes.alive():
        assert child.poll() is None, child.communicate()[0]
        assert time.monotonic() - began < 120
        time.sleep(0.1)

    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)

    began = time.monotonic()
    while nodes.alive():
        assert time.monotonic() - began < 90
        time.sleep(0.2)


@pytest.mark.parametrize(
    "fields",
    [
        {"launcher": "srun -n1"},
        {"torchrun": ["--nnodes=2", "--rdzv-endpoint=gpu-1:29400"]},
    ],
)
def test_what_goes_to_nodes_by_itself_is_refused(fork: Fork, fields: dict[str, Any]) -> None:
    head = fork.repository.revision("HEAD")
    request = fork.request(head, head, workload(**fields))
    request = on_cluster(request, "auto")

    with pytest.raises(ConfigError, match="keeps each block on one node"):
        fork.measure(request)


@on_a_cluster
def test_without_a_cluster_the_address_is_named(fork: Fork) -> None:
    if importlib.util.find_spec("ray") is None:
        missing("Ray is not installed (pip install '.[ray]')")
    head = fork.repository.revision("HEAD")
    request = on_cluster(fork.request(head, head), "127.0.0.1:1")

    with pytest.raises(EnvironmentFailure, match=r"127\.0\.0\.1:1"):
        fork.measure(request)
