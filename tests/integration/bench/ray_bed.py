"""A real Ray cluster of three nodes on this machine, each with a cache and locks of its own."""

from __future__ import annotations

import contextlib
import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.config import BenchConfig
from tests.need import missing
from tests.nvml import cards_at_work

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from ciwm.bench.plan import BenchRequest
    from tests.nvml import Cards

ROOT = Path(__file__).parents[3]
BUILD = 'echo built >> "$MARKS/builds-$(basename "$CIWM_CACHE_DIR")"'


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

    def name(self, number: int) -> str:
        """What names of launches hold of a node, by the order in which they were added."""
        return str(list(self.nodes)[number])[:8]

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


def on_cluster(request: BenchRequest, address: str) -> BenchRequest:
    """A request whose blocks go to a cluster."""
    bench = BenchConfig.model_validate({"engine": "ray", "ray": {"address": address}})
    return replace(request, config=request.config.model_copy(update={"bench": bench}))


def built_on(nodes: Nodes) -> dict[str, int]:
    """How often something was built, by the name of the cache."""
    return {
        path.name.removeprefix("builds-"): path.read_text().count("built")
        for path in nodes.marks.glob("builds-*")
    }
