"""The rule by hand calculation, and the symmetries it promises.  Calibration: tests/stats."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import product
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.stats.gate import Gate, block_order

LOGS = st.floats(-0.2, 0.2)
PAIR = st.tuples(LOGS, LOGS)
BLOCKS = st.lists(st.tuples(PAIR, PAIR), min_size=2, max_size=8)
Blocks = list[tuple[tuple[float, float], tuple[float, float]]]


def fed(blocks: Blocks, *, tests: int = 40, exact: bool = False, noise: float = 0.01) -> Gate:
    gate = Gate(tests=tests, exact=exact, noise=noise)
    for base, head in blocks:
        gate.add(base, head)
    return gate


def repeated(change: float, blocks: int, *, spread: float = 0.0) -> Blocks:
    return [((0.0, spread), (change, change + spread))] * blocks


def test_a_blocks_order_is_one_of_six_and_depends_on_all_four_arguments() -> None:
    orders = {block_order(1, "w", 0, 0), *(block_order(1, "w", block, 0) for block in range(99))}
    assert orders == {
        order for order in product(("base", "head"), repeat=4) if order.count("head") == 2
    }
    there = [block_order(1, "w", block, 0) for block in range(30)]
    for other in ((2, "w", 0), (1, "v", 0), (1, "w", 1)):
        seed, workload, attempt = other
        assert there != [block_order(seed, workload, block, attempt) for block in range(30)]
    assert there == [block_order(1, "w", block, 0) for block in range(30)]


def test_the_six_orders_are_equally_likely() -> None:
    draws = 12_000
    counts = Counter(
        block_order(seed, "decode", block, attempt)
        for seed in range(100)
        for block in range(40)
        for attempt in range(3)
    )
    expected = draws / 6
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert len(counts) == 6
    assert chi_square < 20.52  # the 0.1 % point of chi-square with five degrees of freedom


def test_the_evidence_of_one_block_by_hand() -> None:
    # s = 1 % gives a tilt of log(1.03) / 0.0001 = 295.588. Of the six labelings of 0, 0.01 | 0.02,
    # 0.03 the changes (mean head - mean base) are 0.02, 0.01, 0, 0, -0.01 and -0.02.
    tilt = log(1.03) / 0.01**2
    changes = (0.02, 0.01, 0.0, 0.0, -0.01, -0.02)
    bet = exp(tilt * 0.02) / (sum(exp(tilt * change) for change in changes) / 6)
    gate = fed([((0.0, 0.01), (0.02, 0.03))])
    assert gate.evidence == pytest.approx(log(0.9 * bet + 0.1))
    assert gate.evidence < log(5.5)


def test_on_a_noisy_machine_the_bet_is_on_two_sds_at_least() -> None:
    # s = 5 %: two sds are 0.1, more than log(1.03), so the tilt is 0.1 / 0.0025 = 40
    changes = (0.2, 0.1, 0.0, 0.0, -0.1, -0.2)
    bet = exp(40 * 0.2) / (sum(exp(40 * change) for change in changes) / 6)
    gate = fed([((0.0, 0.1), (0.2, 0.3))], noise=0.05)
    assert gate.evidence == pytest.approx(log(0.9 * bet + 0.1))


def test_a_first_guess_that_is_trusted_more_moves_less() -> None:
    def learnt(freedom: int) -> float:
        gate = Gate(tests=40, noise=0.01, freedom=freedom)
        gate.add((0.0, 0.0), (0.0, 0.0))
        return gate.noise_learnt

    # no spread in two pairs, each one more degree of freedom: 0.01 * sqrt(f / (f + 2))
    assert learnt(4) == pytest.approx(0.01 * (4 / 6) ** 0.5)
    assert learnt(16) == pytest.approx(0.01 * (16 / 18) ** 0.5)


def test_a_block_without_any_difference_is_no_evidence() -> None:
    gate = fed(repeated(0.0, 4))
    assert gate.evidence == pytest.approx(0)
    assert gate.evidence_faster == pytest.approx(0)


@pytest.mark.parametrize(("tests", "launches"), [(1, 6), (9, 8), (50, 10), (276, 12)])
def test_a_regression_can_be_proved_with_so_few_launches(tests: int, launches: int) -> None:
    gate, blocks = Gate(tests=tests), 0
    while gate.add((0.0, 0.0), (0.2, 0.2)) is None:
        blocks += 1
    assert gate.verdict == "regress"
    assert len(gate.base) == launches == gate.launches_to_block


@pytest.mark.parametrize("tests", [10, 51, 277])
def test_one_series_more_than_that_needs_one_block_more(tests: int) -> None:
    assert Gate(tests=tests).launches_to_block == Gate(tests=tests - 1).launches_to_block + 2


def test_unchanged_series_pass_with_four_launches() -> None:
    gate = fed(repeated(0.001, 1, spread=0.001))
    assert gate.verdict is None
    assert gate.add((0.0, 0.001), (0.001, 0.0)) == "pass"


def test_a_slowdown_below_the_threshold_is_never_blocked_however_sure() -> None:
    gate = fed(repeated(0.02, 8))
    assert gate.evidence > gate.evidence_needed
    assert gate.verdict == "pass"


def test_a_budget_spent_in_doubt_is_inconclusive() -> None:
    noisy: Blocks = [((0.0, 0.3), (0.3, 0.0)), ((0.3, 0.0), (0.0, 0.3))] * 4
    gate = fed(noisy[:-1])
    assert gate.verdict is None
    gate.add(*noisy[-1])
    assert gate.verdict == "inconclusive"


def test_a_budget_that_is_no_whole_number_of_blocks_is_not_overrun() -> None:
    gate = Gate(tests=40, max_launches=5)
    gate.add((0.0, 0.3), (0.3, 0.0))
    assert gate.add((0.3, 0.0), (0.0, 0.3)) == "inconclusive"


def test_a_verdict_is_what_all_launches_so_far_say() -> None:
    gate = fed(repeated(0.0, 2))
    said = [gate.verdict]
    said += [gate.add((0.0, 0.0), (0.2, 0.2)) for _ in range(10)]
    assert said[0] == "pass"
    assert said[-1] == "regress"
    for _ in range(20):
        gate.add((0.0, 0.0), (0.0, 0.0))
        proved = gate.evidence >= gate.evidence_needed and gate.estimate >= gate.limit
        assert (gate.verdict == "regress") == proved
    assert gate.verdict == "inconclusive"
    assert gate.estimate < 0.03


@given(BLOCKS, st.data())
def test_evidence_does_not_depend_on_order_inside_an_arm_of_a_block(
    blocks: Blocks, data: st.DataObject
) -> None:
    swapped: Blocks = [
        (base[::-1], head) if data.draw(st.booleans()) else (base, head[::-1])
        for base, head in blocks
    ]
    one, other = fed(blocks), fed(swapped)
    assert one.evidence == pytest.approx(other.evidence, abs=1e-9)
    assert one.evidence_faster == pytest.approx(other.evidence_faster, abs=1e-9)
    assert one.estimate == other.estimate


@given(BLOCKS)
def test_swapping_the_labels_mirrors_evidence_estimate_and_interval(blocks: Blocks) -> None:
    one, other = fed(blocks), fed([(head, base) for base, head in blocks])
    assert one.evidence == pytest.approx(other.evidence_faster, abs=1e-9)
    assert one.evidence_faster == pytest.approx(other.evidence, abs=1e-9)
    assert one.estimate == pytest.approx(-other.estimate, abs=1e-12)
    low, high = other.interval()
    assert one.interval() == pytest.approx((-high, -low), abs=1e-9)


@given(BLOCKS, st.floats(-20, 20))
def test_a_change_of_unit_changes_nothing(blocks: Blocks, unit: float) -> None:
    scaled: Blocks = [
        ((base[0] + unit, base[1] + unit), (head[0] + unit, head[1] + unit))
        for base, head in blocks
    ]
    one, other = fed(blocks), fed(scaled)
    assert other.evidence == pytest.approx(one.evidence, abs=1e-6)
    assert other.estimate == pytest.approx(one.estimate, abs=1e-9)
    assert other.interval() == pytest.approx(one.interval(), abs=1e-9)


@given(BLOCKS, st.floats(0, 0.1))
def test_evidence_grows_with_the_slowdown(blocks: Blocks, more: float) -> None:
    slower: Blocks = [(base, (head[0] + more, head[1] + more)) for base, head in blocks]
    assert fed(slower).evidence >= fed(blocks).evidence - 1e-9
    assert fed(slower).evidence_faster <= fed(blocks).evidence_faster + 1e-9


@given(st.lists(LOGS, min_size=4, max_size=4), st.floats(0.002, 0.05))
def test_the_bet_on_one_block_is_fair_over_its_six_labelings(
    values: list[float], noise: float
) -> None:
    payouts = []
    for first in range(4):
        for second in range(first + 1, 4):
            head = (values[first], values[second])
            rest = [value for slot, value in enumerate(values) if slot not in (first, second)]
            payouts.append(exp(fed([((rest[0], rest[1]), head)], noise=noise).evidence))
    assert sum(payouts) / 6 == pytest.approx(1)


@given(BLOCKS)
def test_the_interval_holds_the_estimate(blocks: Blocks) -> None:
    gate = fed(blocks)
    low, high = gate.interval()
    assert low <= gate.estimate <= high


def test_one_outlier_launch_costs_a_factor_of_ten_at_most() -> None:
    gate = fed(repeated(0.05, 4))
    before = gate.evidence
    gate.add((5.0, 0.0), (0.05, 0.05))
    assert gate.evidence >= before - log(10)


def test_the_launch_sd_is_that_of_launches_around_their_blocks_mean() -> None:
    # 0 and 0.02 stand 0.01 from their mean; two launches share one degree of freedom
    gate = fed([((0.0, 0.02), (0.5, 0.52)), ((0.02, 0.0), (0.52, 0.5))])
    assert gate.launch_sd == pytest.approx(0.02 / 2**0.5)


def test_a_pass_wants_99_percent_where_launches_scatter_by_more_than_the_threshold() -> None:
    # both differ by -0.02 and 0.02 in turn: mean 0, sd 0.0231, error 0.01155, t(3) 2.3534 and
    # 4.5407: below 0.0272 with 95 %, below 0.0524 with 99 %; log(1.03) is 0.0296
    calm: Blocks = [((0.0, 0.0), (-0.02, 0.02))] * 2  # launch sd 0.02
    rough: Blocks = [((0.0, 0.05), (-0.02, 0.07))] * 2  # of 0.05 and 0.09 apart: 0.0515
    assert fed(calm).verdict == "pass"
    assert fed(calm).worst() == pytest.approx(0.0272, abs=5e-5)
    assert fed(rough).verdict is None
    assert fed(rough).worst() == pytest.approx(0.0524, abs=5e-5)


def test_launches_needed_grow_with_the_square_of_the_intervals_width() -> None:
    wide: Blocks = [((0.0, 0.08), (0.08, 0.0)), ((0.08, 0.0), (0.0, 0.08))]
    gate = Gate(tests=1, max_launches=4)
    for base, head in wide:
        gate.add(base, head)
    # the four pairs differ by 0.08 or -0.08: mean 0, sd 0.0924, error 0.0462; launches have an sd
    # of 0.0566, so that 99 % are asked, t(3) 4.5407: a limit of 0.2097 must come down to
    # log(1.03) and a quarter of the error, 0.0411: to the 5.102nd part, for which it takes 5.102
    # squared as many launches, 104.1
    assert gate.verdict == "inconclusive"
    gate.max_launches = 16
    assert gate.launches_needed() == 106
    gate.max_launches = 13
    assert gate.launches_needed() is None  # beyond eight budgets of three


def test_launches_needed_follow_the_evidence_when_head_is_slower() -> None:
    gate = Gate(tests=40, max_launches=4)
    for base, head in repeated(0.1, 2):
        gate.add(base, head)
    assert gate.verdict == "inconclusive"
    assert gate.launches_needed() == 10


@pytest.mark.parametrize("change", [0.0, 0.01])
def test_equal_counts_and_small_changes_of_counts_pass(change: float) -> None:
    assert fed(repeated(change, 2), exact=True).verdict == "pass"


@pytest.mark.parametrize(("tests", "launches"), [(1, 4), (2, 4), (3, 6), (40, 6), (41, 8)])
def test_a_count_that_differs_is_decided_when_chance_is_below_alpha(
    tests: int, launches: int
) -> None:
    # 4^-n < 0.01 / tests, by hand: 4^4 = 256, 4^6 = 4096, 4^8 = 65536
    gate = Gate(tests=tests, exact=True)
    while gate.add((7.0, 7.0), (7.1, 7.1)) is None:
        pass
    assert gate.verdict == "regress"
    assert len(gate.base) == launches
    assert gate.evidence >= gate.evidence_needed


def test_a_threshold_met_to_the_last_bit_is_met() -> None:
    gate = Gate(tests=1, exact=True)
    for _ in range(2):
        gate.add((log(1000),) * 2, (log(1030),) * 2)
    assert gate.verdict == "regress"


def test_a_count_that_flips_by_chance_is_blocked_in_one_of_256_patterns_at_most() -> None:
    blocked = 0
    for launches in product((0.0, 0.1), repeat=8):
        gate = Gate(tests=1, exact=True)
        gate.add(launches[:2], launches[2:4])
        gate.add(launches[4:6], launches[6:])
        blocked += gate.verdict == "regress"
    assert blocked == 1


def test_times_are_never_compared_exactly_even_if_launches_agree() -> None:
    gate = fed(repeated(0.1, 2), tests=1)
    assert gate.verdict is None


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_refused_and_leaves_the_gate_as_it_was(bad: float) -> None:
    gate = Gate(tests=1)
    with pytest.raises(ValueError, match="finite"):
        gate.add((0.0, bad), (0.0, 0.0))
    assert gate.base == []


@pytest.mark.parametrize(("base", "head"), [((0.0,), (0.0,)), ((0.0,) * 3, (0.0,) * 3), ((), ())])
def test_a_block_is_two_launches_a_side(base: tuple[float], head: tuple[float]) -> None:
    with pytest.raises(ValueError, match=r"2\+2"):
        Gate(tests=1).add(base, head)


@pytest.mark.parametrize(
    "wrong",
    [
        {"tests": 0},
        {"threshold": 0},
        {"threshold": float("nan")},
        {"alpha": 1},
        {"noise": 0},
        {"max_launches": 3},
        {"min_launches": 1},
    ],
)
def test_a_gate_that_could_not_decide_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"positive|no budget"):
        Gate(**{"tests": 1, **wrong})  # type: ignore[arg-type]  # wrong on purpose


def test_deciding_needs_neither_numpy_nor_scipy() -> None:
    program = (
        "import sys\n"
        "from ciwm.stats.gate import Gate\n"
        "gate = Gate(tests=40)\n"
        "gate.add((0.0, 0.1), (0.2, 0.3)); gate.add((0.0, 0.1), (0.2, 0.3)); gate.interval()\n"
        "print(sorted({'numpy', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
