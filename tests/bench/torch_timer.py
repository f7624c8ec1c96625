"""The worker's timing of torch operators beside `torch.utils.benchmark` and a bare loop, by turns.

python tests/bench/torch_timer.py

All time the same callable in one process and by turns, over the same number of calls. The tenth
percentiles of all samples are compared, since whatever else runs on the machine only adds. Limit:
1 % of torch's, on a machine that does little else; the bare loop tells which of the two is off.

Nothing may happen between two samples that the others do not do as well. Asking torch's measurement
for its mean does: it computes statistics by tensors, and the calls after that are slower, the first
by a tenth of a microsecond or more. `--after-mean` shows it: the median of each of the calls that
follow, after nothing, after a measurement of torch's, and after one whose mean was asked for.
"""

from __future__ import annotations

import itertools
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID251, TID253  a benchmark of the worker, which may
from torch.utils import benchmark  # noqa: TID251, TID253

from ciwm.worker.batch import batch_size, batches
from ciwm.worker.clock import clock_name, make_clock

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS, SAMPLES, LIMIT = 21, 10, 0.01
FOLLOWING, REPEATS = 12, 3000
SAMPLE_S = 2e-3
PART_S, MOST_SAMPLES, CALLS, LONG_S = 0.05, 300, 10, 2e-3


def main() -> None:
    """Print a row for each operator."""
    torch.set_num_threads(1)
    if "--after-mean" in sys.argv:
        show_what_a_mean_costs_the_next_calls()
        return
    names = "".join(f"{name:>13}" for name in ("torch", "bare loop", "worker"))
    print(f"{'operator':24}{names}  / torch   / bare")
    for name, step in operators():
        taken: dict[str, list[float]] = {"torch": [], "bare": [], "worker": []}
        step_s = statistics.median(torch_s(step, 10, 5))
        # what torch's timer does between two measurements slows the calls that follow by some us in
        # all: a sample is long beside that
        size = max(batch_size(step_s), CALLS if step_s < LONG_S else 1, round(SAMPLE_S / step_s))
        count = min(max(SAMPLES, int(PART_S / (step_s * size))), MOST_SAMPLES)
        ways = {"torch": torch_s, "bare": bare_s, "worker": worker_s}
        for _ in range(ROUNDS):
            for way in random.sample(list(ways), len(ways)):
                taken[way] += ways[way](step, size, count)
        theirs, bare, ours = (tenth(values) for values in taken.values())
        within = "" if abs(ours / theirs - 1) <= LIMIT else "  beyond 1 % of torch's"
        times = " ".join(f"{one * 1e6:9.2f} us" for one in (theirs, bare, ours))
        print(f"{name:24} {times} {ours / theirs:8.4f} {ours / bare:8.4f}{within}")


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
    return [float(timer.timeit(size).raw_times[0]) / size for _ in range(count)]


def bare_s(step: Callable[[], Any], size: int, count: int) -> list[float]:
    """A loop with nothing in it but the calls."""
    found = []
    for _ in range(count):
        began = time.perf_counter()
        for _ in range(size):
            step()
        found.append((time.perf_counter() - began) / size)
    return found


def worker_s(step: Callable[[], Any], size: int, count: int) -> list[float]:
    """The worker's samples of so many calls each, taken as a launch takes them."""
    runs = batches(itertools.repeat(step), size)
    clock = make_clock(clock_name())
    return [float(clock.time(next(runs))[1]) / size for _ in range(count)]


def show_what_a_mean_costs_the_next_calls() -> None:
    """Medians in ns of the calls that follow; two go before them, as torch's timer makes them."""
    _, step = operators()[0]
    timer = benchmark.Timer("step()", globals={"step": step})
    before: dict[str, Callable[[], Any]] = {
        "nothing": lambda: None,
        "a measurement": lambda: timer.timeit(20),
        "its mean": lambda: timer.timeit(20).mean,
    }
    for name, disturb in before.items():
        taken: list[list[int]] = [[] for _ in range(FOLLOWING)]
        for _ in range(REPEATS):
            bare_s(step, 20, 1)
            disturb()
            bare_s(step, 2, 1)
            for each in taken:
                began = time.perf_counter_ns()
                step()
                each.append(time.perf_counter_ns() - began)
        medians = [statistics.median(each) for each in taken]
        shown = " ".join(f"{one:.0f}" for one in medians)
        print(f"after {name + ':':15} {shown}  ({sum(medians) / 1000:.1f} us in all)")


def tenth(values: list[float]) -> float:
    """The tenth percentile."""
    return sorted(values)[len(values) // 10]


if __name__ == "__main__":
    main()
