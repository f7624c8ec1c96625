"""Simulated gate runs: launches in the product's own seeded order, under a model of noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ciwm.stats.gate import block_order
from tests.stats.noise import MODELS, timings

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Arms = tuple[Floats, Floats]

BATCH = 1000  # series drawn at a time, for the sake of memory


def median_trials(
    model: str, tests: int, *, effect: float = 0, seed: int = 0, max_launches: int = 16
) -> Arms:
    """Log P50s of base and head launches, 60 iterations each; head is slower by `effect`."""
    return _batches(
        tests, lambda size, start: _medians(model, size, effect, (seed, start), max_launches)
    )


def tail_trials(model: str, tests: int, *, effect: float, iterations: int, seed: int) -> Arms:
    """Mean logs of each launch's slowest 5 %, which head stretches by `effect`; P50 stays."""
    return _batches(
        tests, lambda size, start: _tails(model, size, effect, iterations, (seed, start))
    )


def _medians(
    model: str, tests: int, effect: float, seed: tuple[int, int], max_launches: int
) -> Arms:
    rng = _generator(model, *seed)
    noise = MODELS[model]
    heads = head_slots(tests, max_launches // 2, seed)
    logs = np.median(timings(noise, tests, 2 * max_launches, 60, rng), axis=2).astype(float)
    luck = noise.build * rng.standard_normal((tests, 1))
    return _arms(logs + heads * (np.log1p(effect) + luck), heads)


def _tails(model: str, tests: int, effect: float, iterations: int, seed: tuple[int, int]) -> Arms:
    rng = _generator(model, *seed)
    heads = head_slots(tests, 8, seed)
    logs = np.sort(timings(MODELS[model], tests, 32, iterations, rng), axis=2)
    slowest = logs[:, :, int(np.ceil(0.95 * iterations)) :].mean(axis=2).astype(float)
    return _arms(slowest + heads * np.log1p(effect), heads)


def head_slots(tests: int, blocks: int, seed: tuple[int, int]) -> NDArray[np.bool_]:
    """Which launches are head's, by the order that a plan would have."""
    start = seed[1]
    orders = [
        [block_order(seed[0], f"w{start + test}", block, 0) for block in range(blocks)]
        for test in range(tests)
    ]
    return np.asarray(np.array(orders).reshape(tests, -1) == "head", dtype=bool)


def _arms(logs: Floats, heads: NDArray[np.bool_]) -> Arms:
    """Each side's launches in the order they were run."""
    order = np.argsort(heads, axis=1, kind="stable")
    sorted_logs = np.take_along_axis(logs, order, axis=1)
    half = logs.shape[1] // 2
    return sorted_logs[:, :half], sorted_logs[:, half:]


def _generator(model: str, seed: int, start: int) -> np.random.Generator:
    return np.random.default_rng([seed, start, *model.encode()])


def _batches(tests: int, draw: Callable[[int, int], Arms]) -> Arms:
    parts = [draw(min(BATCH, tests - start), start) for start in range(0, tests, BATCH)]
    bases, heads = zip(*parts, strict=True)
    return np.concatenate(bases), np.concatenate(heads)
