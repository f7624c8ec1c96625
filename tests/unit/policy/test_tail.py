"""The slowest 5 % of iterations: a gate where asked for and numerous enough, else a warning."""

from __future__ import annotations

import random
from datetime import date
from math import exp, log
from typing import TYPE_CHECKING

import pytest

from ciwm.config import GateConfig
from ciwm.policy import Waivers, Watch, conclusion, decide
from ciwm.policy.blocks import blocks
from ciwm.waivers import Waiver
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from ciwm.records import Run, SeriesVerdict

GATED = GateConfig(gate_p99=True)


def launch(rng: random.Random, iterations: int, *, tail: float, middle: float = 1.0) -> list[float]:
    """Iterations of 1 s or so, the slowest 5 % of them slower still by `tail`."""
    level = middle * exp(rng.gauss(0, 0.002))
    ordered = sorted(level * exp(rng.gauss(0, 0.01)) for _ in range(iterations))
    slow = iterations - iterations // 20
    values = [*ordered[:slow], *(value * (1 + tail) for value in ordered[slow:])]
    rng.shuffle(values)
    return values


def tailed(
    tail: float,
    *,
    iterations: int = 200,
    count: int = 8,
    better: str = "lower",
    middle: float = 1.0,
    seed: int = 20,
) -> Run:
    rng = random.Random(3)
    builder = RunBuilder(family=[series(better=better)], seed=seed)
    for number in range(count):
        values = {
            "base": [launch(rng, iterations, tail=0) for _ in "ab"],
            "head": [launch(rng, iterations, tail=tail, middle=middle) for _ in "ab"],
        }
        if better == "higher":
            values = {side: [[1 / x for x in xs] for xs in values[side]] for side in values}
        builder.block(number, values)
    return builder.run()


def only(run: Run, config: GateConfig = GATED) -> SeriesVerdict:
    (found,) = decide(run, config).series
    return found


def test_a_slower_tail_blocks_where_it_is_gated() -> None:
    verdict = decide(tailed(0.25), GATED)
    (found,) = verdict.series
    assert (verdict.outcome, conclusion(verdict)) == ("fail", "failure")
    assert (found.outcome, found.by_tail) == ("regressed", True)
    assert "of the slowest 5 % of iterations is 2" in found.reason
    assert found.ratio == pytest.approx(1, abs=0.01)  # the P50's
    assert found.tail is not None
    assert found.tail.ratio == pytest.approx(1.25, abs=0.02)
    assert found.tail.evidence >= found.tail.evidence_needed == pytest.approx(log(1 / 0.002))
    assert found.evidence_needed == pytest.approx(log(1 / 0.008))


def test_the_tail_is_the_geometric_mean_of_the_slowest_twentieth() -> None:
    run = RunBuilder().block(0, {side: [[1.0] * 57 + [2.0, 4.0, 8.0]] * 2 for side in SIDES}).run()
    found = only(run).tail
    assert found is not None
    assert found.base_value == pytest.approx(4)
    assert (found.iterations, found.gated) == (60, False)


SIDES = ("base", "head")


def test_higher_is_better_has_its_tail_at_the_low_end() -> None:
    found = only(tailed(0.25, better="higher"))
    assert found.outcome == "regressed"
    assert found.tail is not None
    assert found.tail.ratio == pytest.approx(0.8, abs=0.02)


def test_without_gate_p99_a_slower_tail_is_a_warning() -> None:
    verdict = decide(tailed(0.25), GateConfig())
    assert verdict.series[0].outcome == "unchanged"
    assert verdict.outcome == "pass"
    (said,) = verdict.problems
    assert said.startswith(
        "warning only: decode/b1 step_time of the slowest 5 % of iterations is 2"
    )
    assert verdict.series[0].evidence_needed == pytest.approx(log(1 / 0.01))


def test_too_few_iterations_do_not_gate_and_say_so() -> None:
    verdict = decide(tailed(0.25, iterations=100), GATED)
    assert verdict.series[0].outcome == "unchanged"
    assert any("launches have 100 iterations, gate_p99 takes 200" in p for p in verdict.problems)
    assert any(p.startswith("warning only") for p in verdict.problems)


def test_below_sixty_iterations_there_is_no_tail() -> None:
    verdict = decide(tailed(0.25, iterations=59), GATED)
    assert verdict.series[0].tail is None
    assert not any(p.startswith("warning only") for p in verdict.problems)


def test_a_tail_that_is_not_decided_leaves_the_series_in_doubt() -> None:
    rng = random.Random(5)
    builder = RunBuilder()
    for number in range(8):
        values = {
            side: [launch(rng, 200, tail=rng.choice([0.0, 0.6])) for _ in "ab"] for side in SIDES
        }
        builder.block(number, values)
    found = only(builder.run())
    assert (found.outcome, found.by_tail) == ("inconclusive", True)
    assert found.reason.startswith("decode/b1 step_time of the slowest 5 % of iterations: 10 %")


def test_a_slower_middle_is_told_before_a_slower_tail() -> None:
    found = only(tailed(0.25, middle=1.1))
    assert (found.outcome, found.by_tail) == ("regressed", False)


def test_what_a_tail_blocks_may_be_switched_off() -> None:
    config = GateConfig(gate_p99=True, block_on=("regression", "missing", "failed"))
    verdict = decide(tailed(0.25), config)
    assert verdict.series[0].outcome == "regressed"
    assert (verdict.outcome, conclusion(verdict)) == ("pass", "neutral")


def test_a_rule_gives_a_tail_its_threshold() -> None:
    config = GateConfig.model_validate(
        {"gate_p99": True, "series": [{"match": "decode", "threshold_p99": "50%"}]}
    )
    found = only(tailed(0.25), config)
    assert found.outcome == "unchanged"
    assert found.tail is not None
    assert found.tail.threshold_pct == 50


def test_sampling_goes_on_until_a_gated_tail_is_decided() -> None:
    run = tailed(0.25, count=3)

    def decided(config: GateConfig) -> bool:
        watch = Watch(run.plan, config)
        for block in blocks(run.launches):
            watch.add(block)
        return watch.decided("decode")

    assert decided(GateConfig())
    assert not decided(GATED)


def test_a_slower_middle_that_may_not_block_does_not_hide_a_slower_tail() -> None:
    verdict = decide(tailed(0.25, middle=1.1), GateConfig(gate_p99=True, block_on=("tail",)))
    (found,) = verdict.series
    assert (found.outcome, found.by_tail, verdict.outcome) == ("regressed", True, "fail")


@pytest.mark.parametrize(
    ("tail", "outcome", "by_tail"),
    [(0.02, "waived", False), (1.0, "regressed", True)],
)
def test_a_waiver_of_the_middle_covers_a_tail_up_to_its_ceiling_alone(
    tail: float, outcome: str, *, by_tail: bool
) -> None:
    waiver = Waiver(
        series="decode/b1",
        metric="step_time",
        ceiling_pct=15,
        reason="a check for NaN",
        author="@jane",
        issue="acme/fork#12",
        expires=date(2026, 12, 31),
    )
    over = Waivers((waiver,), date(2026, 9, 14))
    (found,) = decide(tailed(tail, middle=1.1), GATED, waivers=over).series
    assert (found.outcome, found.by_tail) == (outcome, by_tail)


def test_a_tail_that_both_runs_saw_is_confirmed_even_if_the_middle_is_not() -> None:
    config = GateConfig(gate_p99=True, confirm=True)
    first = tailed(0.5, middle=1.1)
    second = tailed(0.5, seed=21)
    (found,) = decide(first, config, second.model_copy(update={"id": "r2"})).series
    assert (found.outcome, found.by_tail) == ("regressed", True)
    assert found.reason.startswith("decode/b1 step_time of the slowest 5 % of iterations is worse")
    assert found.tail is not None
    assert found.confirmation is not None
    assert found.confirmation.evidence_together > found.tail.evidence
    assert found.confirmation.ratio == pytest.approx(1.5, rel=0.05)
