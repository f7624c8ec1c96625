"""Deciding: the gate's arithmetic, and `decide` on whole runs, in one process.

python -m tests.bench.gate_speed
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from ciwm.config import GateConfig
from ciwm.policy import decide
from ciwm.stats.gate import Gate
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from ciwm.records import Run

SERIES, LAUNCHES = 1000, 32  # both sides together


def arithmetic_s(count: int) -> float:
    """Seconds for that many gates to take 16 launches a side, two a block."""
    rng = random.Random(1)
    logs = [[rng.gauss(0, 0.01) for _ in range(4)] for _ in range(count * LAUNCHES // 4)]
    start = time.perf_counter()
    for row in range(count):
        gate = Gate(tests=count)
        for block in range(LAUNCHES // 4):
            values = logs[row * (LAUNCHES // 4) + block]
            gate.add(values[:2], values[2:])
        gate.interval()
    return time.perf_counter() - start


def run_of(count: int, iterations: int) -> Run:
    """A run of one workload that times that many series in each of 32 launches."""
    rng = random.Random(2)
    names = [f"ops/s{number}" for number in range(count)]
    builder = RunBuilder(family=[series(name) for name in names])

    def launch() -> dict[str, list[float]]:
        return {name: [rng.gauss(1, 0.01) for _ in range(iterations)] for name in names}

    for number in range(LAUNCHES // 4):
        values = {"base": [launch(), launch()], "head": [launch(), launch()]}
        builder.block(number, values, workload="ops")
    return builder.run()


def decide_s(count: int, iterations: int) -> float:
    """Seconds to decide on such a run."""
    run = run_of(count, iterations)
    start = time.perf_counter()
    decide(run, GateConfig())
    return time.perf_counter() - start


if __name__ == "__main__":
    full, forty = arithmetic_s(SERIES), arithmetic_s(40)
    print(f"gate arithmetic, {SERIES} series x {LAUNCHES} launches: {full:.2f} s (target: 1 s)")
    print(f"gate arithmetic, 40 series x {LAUNCHES} launches: {forty * 1e3:.0f} ms (target: 50 ms)")
    for count, iterations in ((40, 60), (SERIES, 1), (SERIES, 60)):
        taken = decide_s(count, iterations)
        print(
            f"decide, {count} series x {LAUNCHES} launches x {iterations} iterations: {taken:.2f} s"
        )
