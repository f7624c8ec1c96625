"""One launch of one real CPU workload: prints the seconds of each iteration as JSON.

python workloads.py NAME PERCENT ITERATIONS; an iteration does 100 units of work, and PERCENT more
where a slowdown is planted: real work, not a sleep.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

UNITS = 100
WARMUP = 5


def parse_json() -> Callable[[], object]:
    """Parse and print a document of a kilobyte."""
    text = json.dumps({"a": list(range(40)), "b": {"c": "x" * 80, "d": [1.5] * 20}})
    return lambda: json.dumps(json.loads(text))


def query_sqlite() -> Callable[[], object]:
    """Insert, sum and delete a few rows of an in-memory table."""
    import sqlite3

    table = sqlite3.connect(":memory:")
    table.execute("create table t(a int, b text)")

    def unit() -> object:
        table.executemany("insert into t values (?, ?)", [(i, "x") for i in range(8)])
        found = table.execute("select sum(a) from t").fetchone()
        table.execute("delete from t")
        return found

    return unit


def compress() -> Callable[[], object]:
    """Deflate a kilobyte."""
    import zlib

    data = b"the quick brown fox " * 8 + bytes(range(64))
    return lambda: zlib.compress(data, 6)


def interpret() -> Callable[[], object]:
    """A loop of the interpreter's own."""
    return lambda: sum(i * i % 7 for i in range(150))


def multiply() -> Callable[[], object]:
    """A small matrix product."""
    import numpy as np

    matrix = np.random.default_rng(0).random((64, 64))
    return lambda: matrix @ matrix


WORKLOADS = {
    "json": parse_json,
    "sqlite": query_sqlite,
    "zlib": compress,
    "python": interpret,
    "matmul": multiply,
}


def timed(name: str, percent: float, iterations: int) -> list[float]:
    """Seconds of each iteration, the warm-up left out."""
    unit = WORKLOADS[name]()
    units = round(UNITS * (1 + percent / 100))
    found = []
    for _ in range(WARMUP + iterations):
        began = time.perf_counter()
        for _ in range(units):
            unit()
        found.append(time.perf_counter() - began)
    return found[WARMUP:]


if __name__ == "__main__":
    print(json.dumps(timed(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))
