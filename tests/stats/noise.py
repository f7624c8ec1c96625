"""Nine ways in which timed launches are noisy, as logs of a time: (tests, launches, iterations).

Launches stand in the order in which one machine ran them. Whatever belongs to a moment (drift,
throttling) is laid over that order, so that interleaved sides share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Logs = NDArray[np.float32]

_DRIFT_LAUNCHES = 40  # `drift` is the sd of a straight line's rise over so many launches


@dataclass(frozen=True)
class Noise:
    """Sizes are logs (0.01 is 1 %), the rest probabilities; zero switches a source off."""

    launch: float  # sd between launches
    iteration: float  # sd within a launch
    correlation: float  # of one iteration with the next
    launch_tail: float = 0  # degrees of freedom of Student launches; 0 is normal
    mode_share: float = 0  # launches in a second mode
    mode: float = 0  # by how much it is slower
    switching: float = 0  # chance that an iteration switches the clock of its launch
    clock: float = 0  # by how much the other clock is slower
    spike_share: float = 0  # iterations hit by a Pareto(1.5) spike
    spike: float = 0.1  # the smallest spike, as a ratio
    drift: float = 0
    walk: float = 0  # sd of a random walk's step from launch to launch
    throttled_share: float = 0  # launches inside throttling episodes
    throttle: float = 0
    throttle_stays: float = 0.9
    build: float = 0  # luck of one build's layout: constant over all its launches


MODELS = {
    "quiet": Noise(0.003, 0.003, 0.3, spike_share=0.002, walk=0.0005),
    "typical": Noise(0.010, 0.012, 0.6, spike_share=0.01, drift=0.01, walk=0.001),
    "layout": Noise(0.008, 0.010, 0.5, spike_share=0.005, drift=0.01, walk=0.001, build=0.007),
    "drift": Noise(
        0.007,
        0.010,
        0.6,
        spike_share=0.005,
        drift=0.04,
        walk=0.003,
        throttled_share=0.25,
        throttle=0.05,
    ),
    "heavy": Noise(
        0.008, 0.012, 0.5, launch_tail=2.2, spike_share=0.03, spike=0.2, drift=0.01, walk=0.001
    ),
    "bimodal": Noise(
        0.005,
        0.008,
        0.5,
        mode_share=0.3,
        mode=0.05,
        switching=0.03,
        clock=0.02,
        spike_share=0.005,
        walk=0.001,
    ),
    "coin": Noise(0.0015, 0.004, 0.3, mode_share=0.5, mode=0.06, spike_share=0.002),
    "contended": Noise(
        0.025,
        0.05,
        0.7,
        spike_share=0.05,
        spike=0.5,
        drift=0.02,
        walk=0.003,
        throttled_share=0.3,
        throttle=0.06,
        throttle_stays=0.7,
    ),
    # two thresholds wide, as on a runner with busy neighbours: nothing can be proved within a
    # budget, and nothing may pass by luck
    "rough": Noise(0.06, 0.02, 0.6),
}


def timings(noise: Noise, tests: int, launches: int, iterations: int, rng: Generator) -> Logs:
    """Logs of the times of every iteration, in the order they were run."""
    inside = _iterations(noise, (tests, launches, iterations), rng)
    inside += _launch_levels(noise, (tests, launches), rng)[:, :, None]
    return inside


def _launch_levels(noise: Noise, shape: tuple[int, int], rng: Generator) -> Logs:
    tests, launches = shape
    if noise.launch_tail:
        level = noise.launch * rng.standard_t(noise.launch_tail, shape)
    else:
        level = noise.launch * rng.standard_normal(shape)
    slope = noise.drift / _DRIFT_LAUNCHES * rng.standard_normal((tests, 1))
    level += slope * np.arange(launches)
    level += noise.walk * rng.standard_normal(shape).cumsum(axis=1)
    level += noise.mode * (rng.random(shape) < noise.mode_share)
    if noise.throttled_share:
        level += noise.throttle * _episodes(noise, shape, rng)
    return level.astype(np.float32)


def _episodes(noise: Noise, shape: tuple[int, int], rng: Generator) -> NDArray[np.bool_]:
    """A two-state chain along the launches: it stays as it is, or is drawn afresh."""
    drawn = rng.random(shape) < noise.throttled_share
    stays = rng.random(shape) < noise.throttle_stays
    for now in range(1, shape[1]):
        drawn[:, now] = np.where(stays[:, now], drawn[:, now - 1], drawn[:, now])
    return drawn


def _iterations(noise: Noise, shape: tuple[int, int, int], rng: Generator) -> Logs:
    from scipy.signal import lfilter

    fresh = rng.standard_normal(shape, dtype=np.float32)
    fresh *= np.float32(noise.iteration)
    fresh[..., 1:] *= np.float32((1 - noise.correlation**2) ** 0.5)  # the first is stationary
    passes, keeps = np.ones(1, np.float32), np.array([1, -noise.correlation], np.float32)
    out: Logs = lfilter(passes, keeps, fresh, axis=-1).astype(np.float32, copy=False)
    if noise.switching:
        switches = rng.random(shape, dtype=np.float32) < noise.switching
        out += np.float32(noise.clock) * (switches.cumsum(axis=-1) % 2)
    hit = rng.random(shape, dtype=np.float32) < noise.spike_share
    out[hit] += np.log1p(noise.spike * (1 + rng.pareto(1.5, int(hit.sum())))).astype(np.float32)
    return out
