"""The table of outcomes of the design, row by row, and what a run takes from its series."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from ciwm.config import GateConfig
from ciwm.policy import conclusion, decide, exit_code
from ciwm.policy.answer import run_outcome
from ciwm.records import LaunchCount, SeriesVerdict, Telemetry, Verdict
from tests.runs import MACHINE, RunBuilder, build, series

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ciwm.records import Side
    from ciwm.records.verdict import SeriesOutcome

CONFIG = GateConfig()
BOTH = {"base": [1.0, 1.0], "head": [1.0, 1.0]}


def slower() -> RunBuilder:
    return RunBuilder().blocks(6, 1.0, 1.06)


def faster() -> RunBuilder:
    return RunBuilder().blocks(6, 1.0, 0.9)


def same() -> RunBuilder:
    return RunBuilder().blocks(2, 1.0, 1.005)


def in_doubt() -> RunBuilder:
    builder = RunBuilder()
    for number in range(8):
        flip = [0.8, 1.2] if number % 2 else [1.2, 0.8]
        builder.block(number, {"base": flip, "head": flip[::-1]})
    return builder


def throttled() -> RunBuilder:
    hot = Telemetry(accelerator=0, throttle_reasons=("hw_thermal_slowdown",))
    builder = RunBuilder()
    for attempt in range(3):
        builder.block(0, BOTH, attempt=attempt, telemetry={"head": [hot, None], "base": [None] * 2})
    return builder


def shared_card() -> RunBuilder:
    seen = Telemetry(accelerator=1, foreign_pids=(4242,))
    builder = RunBuilder()
    for attempt in range(3):
        builder.block(
            0, BOTH, attempt=attempt, telemetry={"head": [None] * 2, "base": [None, seen]}
        )
    return builder


def lopsided() -> RunBuilder:
    hot = Telemetry(accelerator=0, throttle_reasons=("SW Thermal Slowdown",))
    builder = slower()
    for number in range(4):
        builder.block(number, BOTH, attempt=1, telemetry={"head": [hot, hot], "base": [None, None]})
    return builder


def other_machine() -> RunBuilder:
    builder = slower()
    builder.arms["head"]["environment"] = MACHINE.model_copy(update={"cpu_model": "Xeon 8480C"})
    return builder


def head_does_not_build() -> RunBuilder:
    builder = RunBuilder()
    builder.arms["head"]["build"] = build("head", ok=False)
    return builder


def head_fails() -> RunBuilder:
    return RunBuilder().block(0, BOTH, exits={"head": ["failed", "oom"]})


def base_does_not_build() -> RunBuilder:
    builder = RunBuilder().block(0, BOTH, exits={"base": ["lost", "lost"]})
    builder.arms["base"]["build"] = build("base", ok=False)
    return builder


def base_fails() -> RunBuilder:
    return RunBuilder().block(0, BOTH, exits={"base": ["signal", "signal"]})


def both_fail() -> RunBuilder:
    return RunBuilder().block(0, BOTH, exits={"base": ["failed"] * 2, "head": ["timeout"] * 2})


def neither_builds() -> RunBuilder:
    builder = head_does_not_build()
    builder.arms["base"]["build"] = build("base", ok=False)
    return builder


def on_base_only() -> RunBuilder:
    family = [series("decode/b1"), series("decode/b2")]
    both, one = {"decode/b1": 1.0, "decode/b2": 1.0}, {"decode/b1": 1.0}
    builder = RunBuilder(family=family)
    for number in range(2):
        builder.block(number, {"base": [both, both], "head": [one, one]})
    return builder


def on_head_only() -> RunBuilder:
    family = [series("decode/b1"), series("decode/b2")]
    both, one = {"decode/b1": 1.0, "decode/b2": 1.0}, {"decode/b1": 1.0}
    builder = RunBuilder(family=family)
    for number in range(2):
        builder.block(number, {"base": [one, one], "head": [both, both]})
    return builder


def never_measured() -> RunBuilder:
    return RunBuilder()


TABLE: list[tuple[Callable[[], RunBuilder], SeriesOutcome, str, str]] = [
    (slower, "regressed", "fail", "failure"),
    (faster, "improved", "pass", "success"),
    (same, "unchanged", "pass", "success"),
    (in_doubt, "inconclusive", "inconclusive", "neutral"),
    (throttled, "void", "void", "neutral"),
    (shared_card, "void", "void", "neutral"),
    (lopsided, "void", "void", "neutral"),
    (other_machine, "void", "void", "neutral"),
    (head_does_not_build, "failed", "fail", "failure"),
    (head_fails, "failed", "fail", "failure"),
    (base_does_not_build, "new", "pass", "neutral"),
    (base_fails, "new", "pass", "neutral"),
    (both_fail, "failed", "fail", "failure"),
    (neither_builds, "failed", "fail", "failure"),
    (on_base_only, "missing", "fail", "failure"),
    (on_head_only, "new", "pass", "success"),
    (never_measured, "missing", "fail", "failure"),
]


def name_of(case: object) -> str:
    return getattr(case, "__name__", str(case))


@pytest.mark.parametrize(("made", "outcome", "run", "check"), TABLE, ids=name_of)
def test_each_cause_has_its_outcome_its_weight_and_its_check(
    made: Callable[[], RunBuilder], outcome: SeriesOutcome, run: str, check: str
) -> None:
    verdict = decide(made().run(), CONFIG)
    assert verdict.series[0].outcome == outcome
    assert verdict.outcome == run
    assert conclusion(verdict) == check
    assert exit_code(verdict, CONFIG) == (1 if run == "fail" else 0)


def judged(outcome: SeriesOutcome) -> SeriesVerdict:
    return SeriesVerdict(
        series=outcome,
        metric="m",
        unit="s",
        better="lower",
        outcome=outcome,
        threshold_pct=3,
        launches=LaunchCount(base=4, head=4),
        reason="",
    )


def answered(outcomes: Sequence[SeriesOutcome], config: GateConfig = CONFIG) -> Verdict:
    found = [judged(outcome) for outcome in outcomes]
    return Verdict(
        run="r",
        outcome=run_outcome(found, config),
        reason="",
        alpha=0.01,
        family_size=len(found),
        interval_method="",
        series=tuple(found),
    )


# from the design: failed/missing/regressed > void > inconclusive > waived/new > unchanged/improved
RANKS: list[tuple[str, tuple[SeriesOutcome, ...]]] = [
    ("fail", ("failed", "missing", "regressed")),
    ("void", ("void",)),
    ("inconclusive", ("inconclusive",)),
    ("pass", ("waived", "new")),
    ("pass", ("unchanged", "improved")),
]
RANKED = [(rank, run, name) for rank, (run, names) in enumerate(RANKS) for name in names]


@pytest.mark.parametrize(("one", "other"), list(product(RANKED, RANKED)))
def test_a_run_takes_the_worse_of_any_two_series(
    one: tuple[int, str, SeriesOutcome], other: tuple[int, str, SeriesOutcome]
) -> None:
    worse = min(one, other)
    assert answered([one[2], other[2]]).outcome == worse[1]


@pytest.mark.parametrize(
    ("config", "outcome", "code"),
    [
        (GateConfig(on_inconclusive="fail"), "inconclusive", 3),
        (GateConfig(on_void="fail"), "void", 5),
        (GateConfig(on_void="fail"), "inconclusive", 0),
        (GateConfig(on_inconclusive="fail"), "void", 0),
        (GateConfig(on_inconclusive="fail", on_void="fail"), "regressed", 1),
        (GateConfig(on_inconclusive="fail", on_void="fail"), "unchanged", 0),
    ],
)
def test_doubt_has_an_exit_code_of_its_own_when_it_is_told_to_fail(
    config: GateConfig, outcome: SeriesOutcome, code: int
) -> None:
    assert exit_code(answered([outcome], config), config) == code


def test_a_void_series_does_not_hide_one_in_doubt_that_is_told_to_fail() -> None:
    config = GateConfig(on_inconclusive="fail")
    both = answered(["void", "inconclusive"], config)
    assert (both.outcome, exit_code(both, config)) == ("void", 3)
    either = GateConfig(on_inconclusive="fail", on_void="fail")
    assert exit_code(both, either) == 5


@pytest.mark.parametrize("outcome", ["failed", "missing", "regressed"])
def test_what_the_configuration_does_not_let_block_is_neutral_and_not_a_success(
    outcome: SeriesOutcome,
) -> None:
    names = {"failed": "failed", "missing": "missing", "regressed": "regression"}
    others = tuple(name for name in CONFIG.block_on if name != names[outcome])
    verdict = answered([outcome], GateConfig(block_on=others))
    assert verdict.outcome == "pass"
    assert conclusion(verdict) == "neutral"


def test_a_waived_regression_is_neutral() -> None:
    assert conclusion(answered(["waived", "unchanged"])) == "neutral"


def test_of_a_head_that_does_not_build_base_is_said_to_build_and_not_to_run() -> None:
    run = RunBuilder().run()
    base = run.base.model_copy(update={"build": build("base")})
    head = run.head.model_copy(update={"build": build("head", ok=False)})
    unlaunched = run.model_copy(update={"base": base, "head": head})
    (found,) = decide(unlaunched, CONFIG).series
    assert found.outcome == "failed"
    assert found.reason.endswith("; base builds")

    launched = same().run().model_copy(update={"base": base, "head": head})
    (found,) = decide(launched, CONFIG).series
    assert found.reason.endswith("; base runs")


def test_a_run_without_any_series_fails() -> None:
    verdict = decide(RunBuilder(family=[]).run(), CONFIG)
    assert verdict.outcome == "fail"
    assert exit_code(verdict, CONFIG) == 1
    assert "no series was planned" in verdict.reason


def test_a_run_whose_series_are_all_declared_removed_fails() -> None:
    verdict = decide(RunBuilder().run(), GateConfig(removed=("decode",)))
    assert verdict.outcome == "fail"
    assert "every planned series is declared removed" in verdict.reason


@pytest.mark.parametrize("pattern", ["decode/b2", "decode/*2", "decode/b2 step_time"])
def test_a_series_that_is_declared_removed_is_not_missing_but_named(pattern: str) -> None:
    verdict = decide(on_base_only().run(), GateConfig(removed=(pattern,)))
    assert [found.series for found in verdict.series] == ["decode/b1"]
    assert verdict.outcome == "pass"
    assert any("decode/b2 step_time" in problem for problem in verdict.problems)


def test_a_series_that_head_still_has_is_judged_even_if_declared_removed() -> None:
    verdict = decide(slower().run(), GateConfig(removed=("decode",)))
    assert verdict.outcome == "fail"


def test_a_series_whose_turn_never_came_is_in_doubt_and_not_missing() -> None:
    builder = RunBuilder(family=[series(), series("train/b1")]).blocks(4, 1.0, 1.0)
    stopped = "the budget of 5 s is spent; undecided: train"
    verdict = decide(builder.run(complete=False, stopped_because=stopped), CONFIG)
    found = {one.series: one for one in verdict.series}
    assert found["train/b1"].outcome == "inconclusive"
    assert found["train/b1"].reason.endswith(f"the run ended before it was measured ({stopped})")
    assert (verdict.outcome, exit_code(verdict, CONFIG)) == ("inconclusive", 0)
    refused = CONFIG.model_copy(update={"on_inconclusive": "fail"})
    assert exit_code(verdict, refused) == 3


def test_a_series_that_no_launch_of_a_stopped_run_gave_is_missing() -> None:
    builder = RunBuilder(family=[series(), series("decode/b2")])
    for number in range(4):
        one = {"decode/b1": 1.0}
        builder.block(number, {"base": [one, one], "head": [one, one]})
    verdict = decide(builder.run(complete=False), CONFIG)
    assert {one.series: one.outcome for one in verdict.series}["decode/b2"] == "missing"


@pytest.mark.parametrize("side", ["base", "head"])
def test_a_side_that_never_had_its_turn_in_discarded_blocks_is_void_and_not_missing(
    side: Side,
) -> None:
    hot = Telemetry(accelerator=0, throttle_reasons=("hw_thermal_slowdown",))
    builder = RunBuilder()
    for attempt in range(3):  # each was given up after the launch that came first
        builder.block(0, BOTH, attempt=attempt, telemetry={"base": [hot] * 2, "head": [hot] * 2})
    builder.launches = [one for one in builder.launches if one.side == side]
    verdict = decide(builder.run(), CONFIG)
    assert [one.outcome for one in verdict.series] == ["void"]
