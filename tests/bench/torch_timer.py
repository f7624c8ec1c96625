"""The worker's timing of torch operators beside `torch.utils.benchmark`, by turns in one process.

python tests/bench/torch_timer.py

Both time the same callable in one process and by turns, over the same number of calls. The tenth
percentiles of all samples are compared, since whatever else runs on the machine only adds. Limit:
1 %, on a machine that does little else.
"""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID251, TID253  a benchmark of the worker, which may
from torch.utils import benchmark  # noqa: TID251, TID253

from ciwm.worker.batch import batch_size, batches
from ciwm.worker.clock import clock_name, make_clock

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, SAMPLES, LIMIT = 21, 10, 0.01
PART_S, MOST_SAMPLES, CALLS, LONG_S = 0.05, 300, 10, 2e-3


def main() -> None:
    """Print a row for each operator."""
    torch.set_num_threads(1)
    print(f"{'operator':24} {'torch':>12} {'worker':>12} {'ratio':>8}")
    for name, step in operators():
        ours: list[float] = []
        theirs: list[float] = []
        step_s = statistics.median(torch_s(step, 10, 5))
        # what torch's timer does between two measurements must not be a part of a call
        size = max(batch_size(step_s), CALLS if step_s < LONG_S else 1)
        count = min(max(SAMPLES, int(PART_S / (step_s * size))), MOST_SAMPLES)
        for _ in range(ROUNDS):
            theirs += torch_s(step, size, count)
            ours += worker_s(step, size, count)
        ratio = tenth(ours) / tenth(theirs)
        within = "" if abs(ratio - 1) <= LIMIT else "  beyond 1 %"
        both = (tenth(theirs) * 1e6, tenth(ours) * 1e6)
        print(f"{name:24} {both[0]:9.2f} us {both[1]:9.2f} us {ratio:8.4f}{within}")


def operators() -> list[tuple[str, Callable[[], Any]]]:
    """Operators from a microsecond to a few milliseconds, on the device that torch would use."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    small, middle = torch.randn(64, device=device), torch.randn(256, 256, device=device)
    large = torch.randn(512, 512, device=device)
    layer = torch.nn.LayerNorm(512, device=device)
    return [
        ("add of 64", lambda: small + 1),
        ("softmax of 256 x 256", lambda: middle.softmax(-1)),
        ("layer norm of 512 x 512", lambda: layer(large)),
        ("product of 512 x 512", lambda: large @ large),
    ]


def torch_s(step: Callable[[], Any], size: int, count: int) -> list[float]:
    """Torch's own measurements of so many calls each, in seconds a call."""
    timer = benchmark.Timer("step()", globals={"step": step})
    return [float(timer.timeit(size).mean) for _ in range(count)]


def worker_s(step: Callable[[], Any], size: int, count: int) -> list[float]:
    """The worker's samples of so many calls each, taken as a launch takes them."""
    runs = batches(itertools.repeat(step), size)
    clock = make_clock(clock_name())
    return [float(clock.time(next(runs))[1]) / size for _ in range(count)]


def tenth(values: list[float]) -> float:
    """The tenth percentile."""
    return sorted(values)[len(values) // 10]


if __name__ == "__main__":
    main()
