"""Attempts to beat the gate's rule, each judged under every model of noise.

`python -m tests.stats.variants` prints the table of docs/measured/gate.md (four minutes of one
core). A variant is worth having only where it is better, or as good, everywhere. Every one keeps
the guarantee: tilts, mixtures and first guesses are fixed before a block is seen.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tests.stats.noise import MODELS, timings
from tests.stats.twin import IMPROVE, INCONCLUSIVE, PASS, REGRESS, _launch_sd, _upper_limit

Floats = NDArray[np.float64]
LIMIT = np.log(1.03)
TESTS, ALPHA = 40, 0.01


@dataclass(frozen=True)
class Variant:
    """The rule's numbers: `tilts` are multiples of limit / variance, mixed as e-processes are."""

    size: int = 2  # launches of a side in a block
    tilts: tuple[float, ...] = (1.0,)
    mix: float = 0.1
    freedom: int = 4
    calibrated: bool = False  # the first guess is what a calibration of the model would store
    highest: float = np.inf  # of a calibrated first guess
    least: float = 2.0  # sds of a launch: the smallest effect that is worth a bet
    clip: float = 2.0
    longest: int = 16


OLD = Variant(least=0.0)
KNOWN = Variant(calibrated=True, freedom=16)
VARIANTS = {
    "the reference": OLD,
    "blocks of 3+3 (of 18)": replace(OLD, size=3, longest=18),
    "blocks of 4+4": replace(OLD, size=4),
    "tilt x 2": replace(OLD, tilts=(2.0,)),
    "tilts x 1, 2": replace(OLD, tilts=(1.0, 2.0)),
    "tilts x 0.5, 1, 2, 4": replace(OLD, tilts=(0.5, 1.0, 2.0, 4.0)),
    "a twentieth held back": replace(OLD, mix=0.05),
    "a fiftieth held back": replace(OLD, mix=0.02),
    "clipped at 1.5 sds": replace(OLD, clip=1.5),
    "clipped at 3 sds": replace(OLD, clip=3.0),
    "calibrated, worth 4 df": replace(OLD, calibrated=True),
    "calibrated, worth 16 df": replace(OLD, calibrated=True, freedom=16),
    "**bet on 2 sds at least**": Variant(),
    "bet on 1.5 sds at least": Variant(least=1.5),
    "bet on 3 sds at least": Variant(least=3.0),
    "**and calibrated, 16 df**": KNOWN,
    "the same, 1.5 sds": replace(KNOWN, least=1.5),
    "the same, 3 sds": replace(KNOWN, least=3.0),
    "the same, 2 sds, 4 df": replace(KNOWN, freedom=4),
}


@dataclass(frozen=True)
class Figures:
    """Shares of series judged so, and launches a side."""

    blocked: float
    passed: float
    launches: float


def trials(
    model: str, effect: float, count: int, variant: Variant, seed: int = 7
) -> tuple[Floats, Floats]:
    """Launches (series, block, launch) of both sides, the order of blocks of any size drawn."""
    rng = np.random.default_rng([seed, round(effect * 1000), *model.encode()])
    noise, size = MODELS[model], variant.size
    blocks = variant.longest // size
    logs = np.concatenate(
        [
            np.median(timings(noise, min(500, count - at), 2 * variant.longest, 60, rng), axis=2)
            for at in range(0, count, 500)
        ]
    ).astype(float)
    logs = logs[:, : 2 * size * blocks].reshape(count, blocks, 2 * size)
    shuffled = np.argsort(rng.random(logs.shape), axis=2)
    base, head = (
        np.take_along_axis(logs, np.sort(slots, axis=2), 2)
        for slots in (shuffled[:, :, :size], shuffled[:, :, size:])
    )
    luck = noise.build * rng.standard_normal((count, 1, 1))
    return base, head + np.log1p(effect) + luck


def first_guess(model: str, count: int, variant: Variant) -> Floats:
    """The launch sd of each series that a calibration of sixteen launches a side would store."""
    if not variant.calibrated:
        return np.full(count, 0.01)
    arms = trials(model, 0.0, count, Variant(longest=18), seed=8)
    found = np.sqrt(_variance_before(*arms, Variant(), np.full(count, 0.01))[:, -1])
    return np.asarray(np.clip(found, LIMIT / 30, variant.highest))


def evidence(base: Floats, head: Floats, variant: Variant, noise: Floats, sign: int) -> Floats:
    """Log evidence after each block, for slower (1) or faster (-1)."""
    variance = _variance_before(base, head, variant, noise)
    both = np.concatenate([base, head], axis=2)
    size = variant.size
    labels = (
        np.array(
            [
                [1 if i in heads else -1 for i in range(2 * size)]
                for heads in combinations(range(2 * size), size)
            ]
        )
        / size
    )
    changes = both @ labels.T
    actual = head.mean(axis=2) - base.mean(axis=2)
    paths = []
    for tilt in variant.tilts:
        effect = np.maximum(tilt * LIMIT, variant.least * np.sqrt(variance))
        stake = sign * effect / variance
        scores = stake[:, :, None] * changes
        top = scores.max(axis=2)
        share = np.exp(stake * actual - top) / np.exp(scores - top[:, :, None]).mean(axis=2)
        paths.append(np.cumsum(np.log((1 - variant.mix) * share + variant.mix), axis=1))
    most = np.max(paths, axis=0)
    return np.asarray(most + np.log(np.mean(np.exp(np.array(paths) - most), axis=0)))


def _variance_before(base: Floats, head: Floats, variant: Variant, noise: Floats) -> Floats:
    out = np.empty(base.shape[:2])
    squares, freedom = variant.freedom * noise**2, variant.freedom
    for block in range(base.shape[1]):
        out[:, block] = squares / freedom
        cap = variant.clip * np.sqrt(out[:, block])[:, None]
        for arm in (base[:, block], head[:, block]):
            left = np.abs(arm - arm.mean(axis=1, keepdims=True))
            squares = squares + (np.minimum(left, cap) ** 2).sum(axis=1)
        freedom += 2 * (variant.size - 1)
    return out


def figures(model: str, effect: float, count: int, variant: Variant) -> Figures:
    """Judge that many series, slower by `effect`."""
    base, head = trials(model, effect, count, variant)
    noise, need = first_guess(model, count, variant), np.log(TESTS / ALPHA)
    slower, faster = (evidence(base, head, variant, noise, sign) for sign in (1, -1))
    flat = [arm.reshape(count, -1) for arm in (base, head)]
    verdict, launches = np.full(count, -1), np.zeros(count, dtype=int)
    for block in range(base.shape[1]):
        seen = (block + 1) * variant.size
        if seen < 4:
            continue
        change = np.median(flat[1][:, :seen], axis=1) - np.median(flat[0][:, :seen], axis=1)
        now = np.full(count, INCONCLUSIVE if block + 1 == base.shape[1] else -1)
        arms = flat[0][:, :seen], flat[1][:, :seen]
        noisy = _launch_sd(*arms, variant.size) > LIMIT
        now[_upper_limit(arms[1] - arms[0], noisy) < LIMIT] = PASS
        now[(faster[:, block] >= need) & (change <= -LIMIT)] = IMPROVE
        now[(slower[:, block] >= need) & (change >= LIMIT)] = REGRESS
        stops = (verdict < 0) & (now >= 0)
        verdict[stops], launches[stops] = now[stops], seen
    return Figures(
        float((verdict == REGRESS).mean()), float((verdict == PASS).mean()), float(launches.mean())
    )


def table(count: int) -> str:
    """Power at +5 %, its launches, and the launches of unchanged series, as Markdown."""
    lines = [f"| variant | figure | {' | '.join(MODELS)} |", "|--" * (2 + len(MODELS)) + "|"]
    for name, variant in VARIANTS.items():
        slow = [figures(model, 0.05, count, variant) for model in MODELS]
        same = [figures(model, 0.0, count, variant) for model in MODELS]
        rows = {
            "+5 %: blocked": [f"{one.blocked:.3f}" for one in slow],
            "+5 %: launches": [f"{one.launches:.1f}" for one in slow],
            "unchanged: launches": [f"{one.launches:.1f}" for one in same],
            "unchanged: alarms": [f"{one.blocked:.4f}" for one in same],
        }
        lines += [f"| {name} | {what} | {' | '.join(cells)} |" for what, cells in rows.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table(int(sys.argv[1]) if len(sys.argv) > 1 else 4000) + "\n")
