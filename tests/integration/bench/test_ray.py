"""Blocks on a real Ray cluster: three nodes, each with a cache and locks of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.bench.measure import measure
from ciwm.config import BenchConfig, BuildConfig
from ciwm.errors import ConfigError, EnvironmentFailure
from ciwm.records import Run, read_record
from tests.fork import exits, workload
from tests.need import missing
from tests.nvml import HW_THERMAL, cards_at_work

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.bench.plan import BenchRequest
    from tests.fork import Fork
    from tests.nvml import Cards

ROOT = Path(__file__).parents[3]
STEP = (
    "import os, time, framework\n"
    "def setup():\n"
    "    marks = os.environ['MARKS']\n"
    "    open(f'{marks}/pid-{os.getpid()}', 'w').close()\n"
    "def step(state): time.sleep(float(os.environ['STEP_S'])); framework.work()\n"
)
BUILD = 'echo built >> "$MARKS/builds-$(basename "$CIWM_CACHE_DIR")"'

on_a_cluster = pytest.mark.heavy
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, in this process


class Nodes:
    """A cluster of three nodes on this machine."""

    def __init__(self, folder: Path, step_s: float, library: Path | None = None) -> None:
        from ray.cluster_utils import Cluster  # noqa: PLC0415  an extra

        self.marks = folder / "marks"
        self.marks.mkdir()
        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        self.nodes = {}
        self.cards: dict[str, Cards] = {}
        for number in range(3):
            (folder / f"cards-{number}").mkdir()
            cards = library and cards_at_work(library, folder / f"cards-{number}")
            variables = {
                "CIWM_CACHE_DIR": str(folder / f"node-{number}"),
                "CIWM_LOCK_DIR": str(folder / f"locks-{number}"),
                "MARKS": str(self.marks),
                "STEP_S": str(step_s),
                "PYTHONPATH": str(ROOT),
                **(cards.environment if cards else {}),
            }
            gpus = {"num_gpus": 1} if cards else {}
            node = self._cluster.add_node(num_cpus=1, env_vars=variables, **gpus)
            self.nodes[node.node_id] = node
            if cards:
                cards.set(uuid=f"GPU-of-{number}", temperature=HEAT_C + number)
                self.cards[node.node_id] = cards
        self.address = self._cluster.address

    def kill(self, name: str) -> None:
        """End a node at once, by the name that launches carry."""
        (node,) = [one for node_id, one in self.nodes.items() if node_id[:8] in name]
        self._cluster.remove_node(node, allow_graceful=False)

    def number(self, name: str) -> int:
        """Which of the nodes a name is of, in the order in which they were added."""
        (found,) = [n for n, node_id in enumerate(self.nodes) if node_id[:8] in name]
        return found

    def alive(self) -> list[int]:
        """The workload's processes that still run."""
        pids = [int(path.name.partition("-")[2]) for path in self.marks.glob("pid-*")]
        return [pid for pid in pids if _runs(pid)]

    def shutdown(self) -> None:
        self._cluster.shutdown()


HEAT_C = 60  # of the first node's card; each next one's is a degree warmer


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def step_s() -> float:
    return 0.05


@contextlib.contextmanager
def cluster(
    folder: Path, step_s: float, monkeypatch: pytest.MonkeyPatch, library: Path | None = None
) -> Iterator[Nodes]:
    if importlib.util.find_spec("ray") is None:
        missing("Ray is not installed (pip install '.[ray]')")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("MARKS", str(folder / "marks"))
    made = Nodes(folder, step_s, library)
    yield made
    made.shutdown()


@pytest.fixture
def nodes(tmp_path: Path, step_s: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    with cluster(tmp_path, step_s, monkeypatch) as made:
        yield made


@pytest.fixture
def nodes_with_cards(
    tmp_path: Path, step_s: float, nvml_library: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Nodes]:
    """A card each, of which only its own node knows."""
    with cluster(tmp_path, step_s, monkeypatch, nvml_library) as made:
        yield made


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
    bench = BenchConfig.model_validate({"engine": "ray", "ray": {"address": nodes.address}})
    return replace(request, config=request.config.model_copy(update={"bench": bench}))


def blocks(run: Run) -> list[list[Any]]:
    found: dict[tuple[str, int, int], list[Any]] = {}
    for one in run.launches:
        found.setdefault((one.workload, one.block, one.attempt), []).append(one)
    return list(found.values())


@on_a_cluster
def test_a_node_that_dies_costs_one_block_and_the_run_completes(fork: Fork, nodes: Nodes) -> None:
    killed: list[str] = []

    def say(line: str) -> None:
        fork.said.append(line)
        if " block " in line and ": " in line and not killed and "lost" not in line:
            killed.append(line.partition(":")[0])
            nodes.kill(killed[0])

    run = measure(on_ray(fork, nodes, "a", "b", "c"), stop=threading.Event(), on_progress=say)

    assert run.complete, run.stopped_because
    assert [one.exit for one in run.launches].count("lost") == 1
    (lost,) = [one for one in run.launches if one.exit == "lost"]
    assert lost.node == killed[0]
    whole = [block for block in blocks(run) if len(block) == 4]
    assert len(whole) == 6
    for block in whole:
        assert {one.exit for one in block} == {"ok"}
        assert len({one.node for one in block}) == 1
    assert len({one.node for one in run.launches}) == 3
    built = {path.name: path.read_text().count("built") for path in nodes.marks.glob("builds-*")}
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
    killed: list[str] = []

    def say(line: str) -> None:
        fork.said.append(line)
        if " block " in line and ": " in line and not killed and "lost" not in line:
            killed.append(line.partition(":")[0])
            nodes.kill(killed[0])

    run = measure(on_ray(fork, nodes, "a", "b", "c"), stop=threading.Event(), on_progress=say)

    assert run.complete, run.stopped_because
    assert len({one.node for one in run.launches}) == 3
    for one in run.launches:
        if one.exit == "lost":
            assert one.node == killed[0]
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
@pytest.mark.parametrize("step_s", [5.0])
def test_a_controller_that_is_killed_leaves_no_task_behind(
    fork: Fork, nodes: Nodes, tmp_path: Path
) -> None:
    fork.commit(
        {
            "bench/steps.py": STEP,
            "ciwm.toml": "[[workload]]\nid = 'w'\npython = 'bench/steps.py:step'\n"
            f"[bench]\nengine = 'ray'\nray.address = '{nodes.address}'\n",
        }
    )
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
    bench = BenchConfig.model_validate({"engine": "ray"})
    request = replace(request, config=request.config.model_copy(update={"bench": bench}))

    with pytest.raises(ConfigError, match="keeps each block on one node"):
        fork.measure(request)


@on_a_cluster
def test_without_a_cluster_the_address_is_named(fork: Fork) -> None:
    if importlib.util.find_spec("ray") is None:
        missing("Ray is not installed (pip install '.[ray]')")
    head = fork.repository.revision("HEAD")
    request = fork.request(head, head)
    bench = BenchConfig.model_validate({"engine": "ray", "ray": {"address": "127.0.0.1:1"}})
    request = replace(request, config=request.config.model_copy(update={"bench": bench}))

    with pytest.raises(EnvironmentFailure, match=r"127\.0\.0\.1:1"):
        fork.measure(request)
