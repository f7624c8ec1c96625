"""The worker's timing of torch operators beside `torch.utils.benchmark` and a bare loop, by turns.

python tests/bench/torch_timer.py

All time the same callable in one process, a sample of some milliseconds each in random order, many
times: the three samples of a turn are milliseconds apart, so that what else the machine does meets
them alike, and the median of the turns' ratios, with its 95 % interval, is what is told. Limit: 1 %
of torch's; the bare loop tells which of the two is off.

Nothing may happen between two samples that the others do not do as well. Asking torch's measurement
for its mean does: it computes statistics by tensors, and the calls after that are slower, the first
by a tenth of a microsecond or more. `--after-mean` shows it: the median of each of the calls that
follow, after nothing, after a measurement of torch's, and after one whose mean was asked for.
"""

from __future__ import annotations

import itertools
import math
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
    from collections.abc import Callable, Iterator, Sequence

LIMIT = 0.01
FOLLOWING, REPEATS = 12, 3000
SAMPLE_S, CALLS, LONG_S = 2e-3, 10, 2e-3
TOTAL_S, FEWEST_TURNS, MOST_TURNS = 10, 300, 2000


def main() -> None:
    """Print a row for each operator."""
    torch.set_num_threads(1)
    if "--after-mean" in sys.argv:
        show_what_a_mean_costs_the_next_calls()
        return
    print(f"{'operator':24}{'worker':>13}  / torch (95 %)             / bare loop (95 %)")
    for name, step in operators():
        turns = list(turns_of(step))
        ours_s = statistics.median(turn["worker"] for turn in turns)
        torch_, bare = (
            interval([t["worker"] / t[way] for t in turns]) for way in ("torch", "bare")
        )
        within = "" if abs(torch_[1] - 1) <= LIMIT else "  beyond 1 % of torch's"
        print(f"{name:24}{ours_s * 1e6:10.2f} us  {shown(torch_)}  {shown(bare)}{within}")


def turns_of(step: Callable[[], Any]) -> Iterator[dict[str, float]]:
    """Seconds a call by each way, turn by turn."""
    step_s = statistics.median(bare_s(step, 10) for _ in range(5))
    # what torch's timer does between two measurements slows the calls that follow by some us in
    # all: a sample is long beside that
    size = max(batch_size(step_s), CALLS if step_s < LONG_S else 1, round(SAMPLE_S / step_s))
    ways = {
        "torch": torch_way(step, size),
        "bare": lambda: bare_s(step, size),
        "worker": worker_way(step, size),
    }
    for _ in range(min(MOST_TURNS, max(FEWEST_TURNS, round(TOTAL_S / (3 * size * step_s))))):
        yield {way: ways[way]() for way in random.sample(list(ways), len(ways))}


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median between the ends of its 95 % interval by the sign test, normal approximation."""
    ordered, half = sorted(values), 0.98 * math.sqrt(len(values))
    middle = (len(ordered) - 1) / 2
    ends = (max(0, math.floor(middle - half)), min(len(ordered) - 1, math.ceil(middle + half)))
    return ordered[ends[0]], statistics.median(ordered), ordered[ends[1]]


def shown(found: tuple[float, float, float]) -> str:
    """A ratio with its interval."""
    return f"{found[1]:.4f} ({found[0]:.4f} to {found[2]:.4f})"


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


def torch_way(step: Callable[[], Any], size: int) -> Callable[[], float]:
    """Torch's own measurement of so many calls, in seconds a call."""
    timer = benchmark.Timer("step()", globals={"step": step})
    return lambda: float(timer.timeit(size).raw_times[0]) / size


def bare_s(step: Callable[[], Any], size: int) -> float:
    """A loop with nothing in it but the calls."""
    lead_in(step, size)
    began = time.perf_counter()
    for _ in range(size):
        step()
    return (time.perf_counter() - began) / size


def worker_way(step: Callable[[], Any], size: int) -> Callable[[], float]:
    """The worker's sample of so many calls, taken as a launch takes it."""
    runs = batches(itertools.repeat(step), size)
    clock = make_clock(clock_name())

    def sample() -> float:
        lead_in(step, size)
        return float(clock.time(next(runs))[1]) / size

    return sample


def lead_in(step: Callable[[], Any], size: int) -> None:
    """What torch's timer runs before it measures."""
    for _ in range(max(size // 100, 2)):
        step()


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
            bare_s(step, 20)
            disturb()
            lead_in(step, 2)
            for each in taken:
                began = time.perf_counter_ns()
                step()
                each.append(time.perf_counter_ns() - began)
        medians = [statistics.median(each) for each in taken]
        shown = " ".join(f"{one:.0f}" for one in medians)
        print(f"after {name + ':':15} {shown}  ({sum(medians) / 1000:.1f} us in all)")


if __name__ == "__main__":
    main()
