"""The 2x2 plan: its lots, and how it splits a change."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.stats.factorial import CELLS, Cell, factorial_order, split


def blocks(
    first: float,
    second: float,
    meeting: float,
    *,
    noise: float = 0.0,
    count: int = 16,
    seed: int = 1,
) -> list[dict[Cell, float]]:
    rng = random.Random(seed)
    effects: dict[Cell, float] = {
        "neither": 0.0,
        "first": first,
        "second": second,
        "both": first + second + meeting,
    }
    return [  # with a drift that a block shares
        {cell: 0.1 * number + effect + rng.gauss(0, noise) for cell, effect in effects.items()}
        for number in range(count)
    ]


def test_the_24_orders_are_equally_likely() -> None:
    draws = 24_000
    counts = Counter(
        factorial_order(seed, "w", block, 0) for seed in range(240) for block in range(100)
    )
    expected = draws / 24
    assert len(counts) == 24
    # the 0.1 % point of chi-square with 23 degrees of freedom
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 49.73


@pytest.mark.parametrize("other", [(2, "w", 0, 0), (1, "v", 0, 0), (1, "w", 0, 1)])
def test_an_order_depends_on_every_argument(other: tuple[int, str, int, int]) -> None:
    seed, workload, _, attempt = other
    there = [factorial_order(1, "w", block, 0) for block in range(30)]
    assert there != [factorial_order(seed, workload, block, attempt) for block in range(30)]


def test_without_noise_the_parts_are_what_was_put_in() -> None:
    found = split(blocks(0.05, -0.02, 0.01))
    parts = [found.first, found.second, found.interaction, found.total]
    for part, expected in zip(parts, (0.05, -0.02, 0.01, 0.04), strict=True):
        assert part.change == pytest.approx(expected)
        assert part.low == pytest.approx(expected)
        assert part.high == pytest.approx(expected)


@given(st.integers(0, 200))
def test_the_parts_add_up_to_the_total_and_lie_in_their_intervals(seed: int) -> None:
    found = split(blocks(0.03, 0.01, 0.0, noise=0.02, seed=seed))
    parts = found.first.change + found.second.change + found.interaction.change
    assert parts == pytest.approx(found.total.change)
    assert all(part.low <= part.change <= part.high for part in found)


def test_intervals_hold_the_truth_together_about_as_often_as_they_say() -> None:
    runs, truth = 400, {"total": 0.05, "first": 0.03, "second": 0.01, "interaction": 0.01}
    held = 0
    for seed in range(runs):
        found = split(blocks(0.03, 0.01, 0.01, noise=0.02, seed=seed))._asdict()
        held += all(found[name].low <= true <= found[name].high for name, true in truth.items())
    assert 0.93 < held / runs < 0.99


def test_swapping_the_factors_swaps_their_parts() -> None:
    there = blocks(0.03, 0.01, 0.0, noise=0.02)
    swapped: list[dict[Cell, float]] = [
        {**block, "first": block["second"], "second": block["first"]} for block in there
    ]
    found, other = split(there), split(swapped)
    assert (found.first, found.second) == (other.second, other.first)
    assert found.total == other.total


def test_one_block_has_no_interval() -> None:
    with pytest.raises(ValueError, match="two values"):
        split(blocks(0, 0, 0, count=1))


def test_all_four_combinations_are_in_a_block() -> None:
    assert sorted(factorial_order(5, "w", 3, 0)) == sorted(CELLS)
