"""Real launches of every workload and every planted slowdown, while another process loads the host.

python -m tests.bench.rivals.collect POOL.json [ROUNDS] [ITERATIONS]

A round launches each workload's arms twice each, all in an order drawn at random: so any two arms
are, round by round, a block of 2 + 2 launches in random order.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.rivals.workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = Path(__file__).with_name("workloads.py")
# the first is base; "same" is not changed either
ARMS = {"base": 0.0, "same": 0.0, "+2 %": 2.0, "+3 %": 3.0, "+5 %": 5.0, "+10 %": 10.0}
BUSY = "import time\nwhile True:\n    sum(range(100000))\n    time.sleep(0.02)\n"


@dataclass
class Pool:
    """Launches in the order of rounds, two a round: workload -> arm -> launches -> seconds."""

    seed: int
    iterations: int
    took_s: float = 0.0
    launches: dict[str, dict[str, list[list[float]]]] = field(default_factory=dict)


@contextmanager
def loaded() -> Iterator[None]:
    """Another process that takes most of one core, as a neighbour on a shared runner does."""
    neighbour = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        yield
    finally:
        neighbour.terminate()
        neighbour.wait(10)


def collect(rounds: int, iterations: int, seed: int = 1) -> Pool:
    """Launch everything; about a fifth of a second a launch."""
    rng, began = random.Random(seed), time.monotonic()
    pool = Pool(seed, iterations, launches={w: {arm: [] for arm in ARMS} for w in WORKLOADS})
    with loaded():
        for number in range(rounds):
            for workload in WORKLOADS:
                turn = [arm for arm in ARMS for _ in range(2)]
                rng.shuffle(turn)
                for arm in turn:
                    pool.launches[workload][arm].append(_launch(workload, arm, iterations))
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
    pool.took_s = time.monotonic() - began
    return pool


def _launch(workload: str, arm: str, iterations: int) -> list[float]:
    command = [sys.executable, str(SCRIPT), workload, str(ARMS[arm]), str(iterations)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    values: list[float] = json.loads(done.stdout)
    return values


def read_pool(path: Path) -> Pool:
    """A pool that was written."""
    return Pool(**json.loads(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[2:]]
    found = collect(*(numbers or [24, 60]))
    Path(sys.argv[1]).write_text(json.dumps(asdict(found)), encoding="utf-8")
