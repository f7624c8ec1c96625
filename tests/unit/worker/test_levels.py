"""When a warm-up is over, how many calls make a sample, and what has one value a launch."""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.worker.batch import batch_size, batches
from ciwm.worker.cache import flusher, last_cache_bytes
from ciwm.worker.once import Once
from ciwm.worker.problem import Problem
from ciwm.worker.warmup import Levels

if TYPE_CHECKING:
    from pathlib import Path


def steps_until_steady(times: Any, between_s: float = 0.0) -> int | None:
    levels, now_s = Levels(0.0), 0.0
    for number, seconds in enumerate(times, start=1):
        now_s += seconds + between_s
        levels.add(seconds, now_s)
        if levels.steady:
            return number
    return None


def test_a_level_is_five_steps_and_is_steady_once_the_next_is_no_lower() -> None:
    assert steps_until_steady([0.1] * 9) is None
    assert steps_until_steady([0.1] * 10) == 10
    # 100 90 80 80 ms: the fourth level is the first that is not lower
    falling = [one for level in (0.1, 0.09, 0.08, 0.08) for one in [level] * 5]
    assert steps_until_steady(falling) == 20
    # a fall of half a percent is none
    assert steps_until_steady([0.1] * 5 + [0.0995] * 5) == 10
    # one slow step of five is not the level
    assert steps_until_steady([0.1, 0.1, 0.1, 0.1, 0.1, 0.09, 9.0, 0.09, 0.09, 0.09]) is None


def test_a_level_of_short_steps_takes_a_twentieth_of_a_second_with_what_is_between() -> None:
    # 2**-12 s, exact in binary: 205 of them are 50 ms and a little
    assert steps_until_steady([2.0**-12] * 409) is None
    assert steps_until_steady([2.0**-12] * 410) == 410
    assert steps_until_steady([2.0**-20] * 1000, between_s=2.0**-12 - 2.0**-20) == 410


def test_what_a_step_takes_is_known_from_five_of_them_on() -> None:
    levels = Levels(0.0)
    for number in range(4):
        levels.add(1e-6, number * 1e-6)
    assert levels.step_s is None
    levels.add(3e-6, 5e-6)
    assert levels.step_s == 1e-6


@pytest.mark.parametrize(
    ("step_s", "size"),
    [
        (None, 1),
        (1.0, 1),
        (51e-6, 1),
        (49e-6, 10),
        (5.1e-6, 10),
        (4.9e-6, 100),
        (20e-9, 10000),
        (1e-12, 10000),
    ],
)
def test_calls_are_batched_by_powers_of_ten_up_to_fifty_microseconds(
    step_s: float | None, size: int
) -> None:
    assert batch_size(step_s) == size


@pytest.mark.parametrize(
    ("step_s", "before", "size"),
    [
        (51e-6, 10, 10),
        (49e-6, 1, 1),
        (49e-6, 100, 100),
        (49e-6, 1000, 10),  # 50 ms a sample, where half a millisecond is enough
        (4.9e-6, 1, 100),
        (None, 10, 10),
    ],
)
def test_a_launch_batches_as_one_before_unless_that_is_far_off(
    step_s: float | None, before: int, size: int
) -> None:
    assert batch_size(step_s, before) == size


def test_a_batch_calls_the_next_steps_in_turn_and_gives_the_last_result() -> None:
    called: list[int] = []

    def step(number: int) -> Any:
        def run() -> int:
            called.append(number)
            return number

        return run

    runs = batches(itertools.cycle([step(n) for n in range(3)]), 4)
    assert [next(runs)() for _ in range(3)] == [0, 1, 2]
    assert called == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]


def test_no_result_is_kept_alive_through_the_next_call() -> None:
    class Result:
        alive = 0

        def __init__(self) -> None:
            Result.alive += 1

        def __del__(self) -> None:
            Result.alive -= 1

    before: list[int] = []

    def step() -> Result:
        before.append(Result.alive)
        return Result()

    next(batches(itertools.repeat(step), 5))()
    assert before == [0] * 5


class Accelerator:
    """A device of torch whose allocator held some bytes, and a compiler that worked a while."""

    def __init__(self) -> None:
        self.reset: list[int] = []

    def is_initialized(self) -> bool:
        return True

    def device_count(self) -> int:
        return 3

    def memory_reserved(self, device: int) -> int:
        return 1 if device != 1 else 0

    def reset_peak_memory_stats(self, device: int) -> None:
        self.reset.append(device)

    def max_memory_allocated(self, device: int) -> int:
        return 2**20 * (device + 1)


def test_device_memory_is_the_allocators_peak_over_the_devices_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = Accelerator()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    once = Once({"peak_device_memory": 2.0**-20})
    assert cuda.reset == [0, 2]
    assert once.values(0.0) == {"peak_device_memory": 1 + 3}


def test_compile_time_is_what_torch_spent_since_the_series_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spent = {"total_wall_time": 2.0}
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    dynamo = SimpleNamespace(calculate_time_spent=lambda: spent)
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", dynamo)
    once = Once({"compile_time": 1e3})
    with pytest.raises(Problem, match="nothing was compiled"):
        once.values(0.0)
    spent["total_wall_time"] = 3.5
    assert once.values(0.0) == {"compile_time": 1500.0}


def test_the_flush_is_as_large_as_twice_the_largest_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, size in enumerate(("32K", "1024K", "33M", "odd")):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(f"{size}\n")
    assert last_cache_bytes(f"{tmp_path}/index*/size") == 33 << 20
    assert last_cache_bytes(f"{tmp_path}/none*/size") is None

    made: dict[str, Any] = {}
    cuda = Accelerator()
    cuda.current_device = lambda: 0  # type: ignore[attr-defined]
    cuda.get_device_properties = lambda _d: SimpleNamespace(  # type: ignore[attr-defined]
        L2_cache_size=50 << 20
    )
    buffer = SimpleNamespace(zero_=lambda: made.setdefault("zeroed", True))
    torch = SimpleNamespace(
        cuda=cuda, int8="int8", empty=lambda size, **kind: made.update(size=size, **kind) or buffer
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    flusher()()
    assert made == {"size": 100 << 20, "dtype": "int8", "device": "cuda", "zeroed": True}
