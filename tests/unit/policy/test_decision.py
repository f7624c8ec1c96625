"""Figures, problems and sentences of a verdict."""

from __future__ import annotations

import random
import re
from math import exp, inf, log, nextafter, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.config import GateConfig
from ciwm.errors import UsageError
from ciwm.policy import Watch, conclusion, decide
from ciwm.policy.blocks import blocks
from ciwm.records import Run, SeriesVerdict, Telemetry, Verdict
from ciwm.report.changes import seen
from tests.runs import REVISIONS, RunBuilder, series

CONFIG = GateConfig()
SIDES = ("base", "head")


def only(run: Run, config: GateConfig = CONFIG) -> SeriesVerdict:
    (found,) = decide(run, config).series
    return found


def noisy(
    seed: int, change: float, count: int, *, scale: float = 1.0, better: str = "lower"
) -> Run:
    """Launches with an sd of 1 % and three iterations each; `change` makes head slower."""
    rng = random.Random(seed)
    builder = RunBuilder(family=[series(better=better)])
    for number in range(count):
        times = {
            side: [
                [scale * rng.gauss(1, 0.01) * (1 + change * (side == "head")) for _ in range(3)]
                for _ in range(2)
            ]
            for side in SIDES
        }
        if better == "higher":
            times = {side: [[1 / x for x in xs] for xs in times[side]] for side in SIDES}
        builder.block(number, times)
    return builder.run()


def test_figures_are_those_of_the_launches() -> None:
    run = RunBuilder().blocks(5, 2.0, 2.2).run()
    found = only(run)
    assert found.ratio == pytest.approx(1.1, abs=2e-4)
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ratio is not None
    assert found.ci_low <= found.ratio <= found.ci_high
    assert found.base_value == pytest.approx(2.0, abs=1e-3)
    assert found.head_value == pytest.approx(2.2, abs=1e-3)
    assert (found.launches.base, found.launches.head) == (10, 10)
    assert found.threshold_pct == 3


def test_ratio_is_the_quotient_of_the_values_shown() -> None:
    found = only(noisy(5, 0.02, 4))
    assert found.base_value is not None
    assert found.head_value is not None
    assert found.ratio == pytest.approx(found.head_value / found.base_value)


def test_a_launch_counts_by_the_median_of_its_iterations() -> None:
    plain = RunBuilder().blocks(3, 1.0, 1.01).run()
    spiky = RunBuilder()
    for number in range(3):
        hair = 1 + 0.0001 * number
        spiky.block(
            number,
            {
                "base": [[1.0, 0.5, 9.0], [0.1, hair, 50.0]],
                "head": [[1.01, 1.01, 1.01], [1.01 * hair] * 3],
            },
        )
    assert only(spiky.run()).ratio == pytest.approx(only(plain).ratio)


def test_higher_is_better_mirrors_the_outcome_and_inverts_the_ratio() -> None:
    lower, higher = only(noisy(3, 0.06, 8)), only(noisy(3, 0.06, 8, better="higher"))
    assert lower.outcome == higher.outcome == "regressed"
    assert lower.ratio is not None
    assert lower.ci_low is not None
    assert lower.ci_high is not None
    assert higher.ratio == pytest.approx(1 / lower.ratio)
    assert higher.ci_low == pytest.approx(1 / lower.ci_high)
    assert higher.ci_high == pytest.approx(1 / lower.ci_low)
    assert higher.evidence == pytest.approx(lower.evidence)


@pytest.mark.parametrize("change", [-0.08, 0.0, 0.03, 0.06])
@given(scale=st.floats(1e-9, 1e12), seed=st.integers(0, 50))
def test_measuring_in_another_unit_changes_no_outcome(
    change: float, scale: float, seed: int
) -> None:
    one, other = only(noisy(seed, change, 6)), only(noisy(seed, change, 6, scale=scale))
    assert one.outcome == other.outcome
    assert one.ratio == pytest.approx(other.ratio)
    assert one.evidence == pytest.approx(other.evidence, abs=1e-6)


def test_one_void_launch_discards_its_whole_block_and_nothing_else() -> None:
    clean = RunBuilder().blocks(4, 1.0, 1.01)
    expected = only(clean.run())
    foreign = Telemetry(accelerator=0, foreign_pids=(7,))
    clean.block(
        9,
        {"base": [1.0, 1.0], "head": [3.0, 3.0]},
        telemetry={"base": [None, None], "head": [None, foreign]},
    )
    verdict = decide(clean.run(), CONFIG)
    assert verdict.series == (expected,)
    assert any("1 block discarded" in problem for problem in verdict.problems)


def test_a_capped_power_is_how_a_card_works_and_voids_nothing() -> None:
    capped = Telemetry(accelerator=0, throttle_reasons=("sw_power_cap", "gpu_idle"))
    builder = RunBuilder()
    for number in range(2):
        builder.block(
            number,
            {"base": [1.0, 1.0], "head": [1.0, 1.0]},
            telemetry={"base": [capped] * 2, "head": [capped] * 2},
        )
    assert only(builder.run()).outcome == "unchanged"


def test_a_head_launch_that_fails_once_is_named_and_its_block_does_not_count() -> None:
    builder = RunBuilder().blocks(2, 1.0, 1.0)
    builder.block(2, {"base": [1.0, 1.0], "head": [9.0, 9.0]}, exits={"head": ["failed", "ok"]})
    verdict = decide(builder.run(), CONFIG)
    assert verdict.outcome == "pass"
    assert verdict.series[0].launches.head == 4
    assert any("1 of 6 head launches" in p and "boom" in p for p in verdict.problems)


def test_a_head_that_fails_twice_is_failed_even_if_it_ran_ten_times() -> None:
    builder = RunBuilder().blocks(5, 1.0, 1.0)
    for number in (5, 6):
        builder.block(
            number, {"base": [1.0] * 2, "head": [1.0] * 2}, exits={"head": ["ok", "signal"]}
        )
    found = only(builder.run())
    assert found.outcome == "failed"
    assert found.ratio is None
    assert "2 of 14 head launches ended with signal" in found.reason


def test_a_base_that_fails_now_and_then_does_not_excuse_a_regression() -> None:
    builder = RunBuilder().blocks(6, 1.0, 1.1)
    for number in (6, 7):
        builder.block(
            number, {"base": [1.0] * 2, "head": [1.1] * 2}, exits={"base": ["ok", "signal"]}
        )
    assert only(builder.run()).outcome == "regressed"


def test_an_interrupted_launch_is_no_failure_of_the_workload() -> None:
    builder = RunBuilder().blocks(2, 1.0, 1.0)
    for number in (2, 3, 4):
        builder.block(
            number,
            {"base": [1.0] * 2, "head": [1.0] * 2},
            exits={"head": ["interrupted", "lost"]},
        )
    assert only(builder.run()).outcome == "unchanged"


def test_a_run_that_was_stopped_is_inconclusive_where_nothing_is_decided_yet() -> None:
    run = RunBuilder().blocks(1, 1.0, 1.1).run(complete=False, stopped_because="interrupted")
    verdict = decide(run, CONFIG)
    assert verdict.outcome == "inconclusive"
    assert "interrupted" in verdict.series[0].reason
    assert any("not complete" in problem for problem in verdict.problems)


def test_an_attempt_after_one_that_counted_does_not_count() -> None:
    builder = RunBuilder().blocks(2, 1.0, 1.0)
    expected = only(builder.run())
    builder.block(1, {"base": [1.0, 1.0], "head": [5.0, 5.0]}, attempt=1)
    assert only(builder.run()) == expected


def test_a_series_that_head_reports_in_some_launches_only_has_failed() -> None:
    family = [series("decode/b1"), series("decode/b2")]
    both, one = {"decode/b1": 1.0, "decode/b2": 1.0}, {"decode/b1": 1.0}
    builder = RunBuilder(family=family)
    for number in range(2):
        builder.block(number, {"base": [both, both], "head": [both, one]})
    found = {each.series: each for each in decide(builder.run(), CONFIG).series}
    assert found["decode/b1"].outcome == "unchanged"
    assert found["decode/b2"].outcome == "failed"
    assert "2 of 4 head launches" in found["decode/b2"].reason


@pytest.mark.parametrize("value", [0.0, -1.0, nextafter(0, -1)])
def test_times_at_or_below_zero_are_void(value: float) -> None:
    builder = RunBuilder()
    for number in range(3):
        builder.block(number, {"base": [1.0, 1.0], "head": [1.0, value]})
    found = only(builder.run())
    assert found.outcome == "void"
    assert "zero" in found.reason


@pytest.mark.parametrize(
    ("base", "head", "better", "outcome"),
    [
        (0, 0, "lower", "unchanged"),
        (0, 3, "lower", "regressed"),
        (0, 3, "higher", "improved"),
        (3, 0, "lower", "improved"),
        (3, 0, "higher", "regressed"),
        (-100, -104, "higher", "regressed"),
        (-100, -102, "higher", "unchanged"),
        (-100, -90, "higher", "improved"),
        (1000, 1029, "lower", "unchanged"),
        (1000, 1030, "lower", "regressed"),
        (1000, 970, "higher", "regressed"),
    ],
)
def test_counts_are_compared_exactly(base: int, head: int, better: str, outcome: str) -> None:
    builder = RunBuilder(family=[series(metric="spills", unit="count", better=better)])
    for number in range(2):
        builder.block(number, {"base": [base, base], "head": [head, head]})
    assert only(builder.run()).outcome == outcome


def test_counts_below_zero_that_vary_are_void() -> None:
    builder = RunBuilder(family=[series(metric="loglik", unit="nats", better="higher")])
    for number in range(2):
        builder.block(number, {"base": [-3, -4], "head": [-3, -3]})
    assert only(builder.run()).outcome == "void"


def test_a_zero_in_a_large_family_is_not_proved_by_few_launches() -> None:
    builder = RunBuilder(
        family=[series(metric="spills", unit="count")],
        plan={"family_size": 40, "max_launches": 4},
    )
    for number in range(2):
        builder.block(number, {"base": [0, 0], "head": [3, 3]})
    found = only(builder.run())
    assert found.outcome == "inconclusive"
    assert "too few" in found.reason


def test_the_worst_series_comes_first_and_within_an_outcome_the_largest_change() -> None:
    names = ["same", "slow", "slower", "fast"]
    builder = RunBuilder(family=[series(name) for name in names])
    for name, head in zip(names, [1.0, 1.1, 1.3, 0.8], strict=True):
        builder.blocks(8, 1.0, head, workload=name)
    found = [each.series for each in decide(builder.run(), CONFIG).series]
    assert found == ["slower", "slow", "same", "fast"]


def test_the_family_is_that_of_the_plan_and_the_evidence_needed_follows_it() -> None:
    run = RunBuilder(plan={"family_size": 50}).blocks(2, 1.0, 1.0).run()
    verdict = decide(run, GateConfig(family_alpha=0.05))
    assert verdict.family_size == 50
    assert verdict.alpha == 0.05
    assert verdict.series[0].evidence_needed == pytest.approx(6.907755)  # ln 1000


def test_a_plan_that_counts_fewer_series_than_it_holds_is_judged_by_those_it_holds() -> None:
    run = RunBuilder(family=[series("a"), series("b")], plan={"family_size": 1}).run()
    verdict = decide(run, CONFIG)
    assert verdict.family_size == 2
    assert any("counts 1 series and holds 2" in problem for problem in verdict.problems)


def test_a_budget_in_which_nothing_can_be_proved_is_a_problem() -> None:
    run = RunBuilder(plan={"family_size": 40, "max_launches": 8}).blocks(4, 1.0, 1.2).run()
    verdict = decide(run, CONFIG)
    assert verdict.outcome == "inconclusive"
    assert any("no regression can be proved" in p and "10" in p for p in verdict.problems)


@pytest.mark.parametrize("head", [1.0, 1.2])
def test_launches_out_of_the_planned_order_are_void_however_they_look(head: float) -> None:
    run = RunBuilder().blocks(6, 1.0, head).run()
    moved = run.model_copy(update={"plan": run.plan.model_copy(update={"seed": run.plan.seed + 1})})
    assert only(run).outcome == ("unchanged" if head == 1.0 else "regressed")
    assert only(moved).outcome == "void"
    assert "not launched in the order that the plan's seed gives" in only(moved).reason


def test_samples_that_were_not_planned_are_named() -> None:
    builder = RunBuilder()
    builder.block(
        0,
        {str(side): [{"decode/b1": 1.0, "decode/renamed": 2.0}] * 2 for side in SIDES},
    )
    (problem,) = [p for p in decide(builder.run(), CONFIG).problems if "not planned" in p]
    assert "decode/renamed" in problem


def test_a_workload_edited_by_the_change_itself_is_named() -> None:
    run = RunBuilder(plan={"touched_workloads": ("decode",)}).blocks(2, 1.0, 1.0).run()
    assert any("decode" in p and "edits" in p for p in decide(run, CONFIG).problems)


@pytest.mark.parametrize(
    ("head", "measured_as_of", "check"),
    [
        (1.0, "head", "neutral"),
        (0.5, "head", "neutral"),  # "faster", but the change may have emptied the benchmark
        (1.1, "head", "failure"),
        (1.0, "base", "success"),
    ],
)
def test_a_benchmark_edited_by_the_change_it_judges_is_no_success(
    head: float, measured_as_of: str, check: str
) -> None:
    plan = {"touched_workloads": ("decode",), "workloads_from": REVISIONS[measured_as_of]}
    run = RunBuilder(plan=plan).blocks(6, 1.0, head).run()

    assert conclusion(decide(run, CONFIG)) == check


def test_foreign_words_reach_a_sentence_on_one_line_and_cut_short() -> None:
    builder = RunBuilder().block(
        0, {"base": [1.0] * 2, "head": [1.0] * 2}, exits={"head": ["failed", "failed"]}
    )
    shouting = "\x1b[31mred\nline two " + "x" * 500
    builder.launches = [
        launch.model_copy(update={"detail": shouting if launch.exit != "ok" else ""})
        for launch in builder.launches
    ]
    reason = only(builder.run()).reason
    assert reason.isprintable()
    assert "line two" in reason
    assert len(reason) < 400


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"launches_per_side_in_block": 3}, "blocks of 3"),
        ({"max_launches": 2}, "no budget"),
    ],
)
def test_a_plan_this_gate_cannot_judge_is_refused(plan: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        decide(RunBuilder(plan=plan).run(), CONFIG)


def test_a_series_planned_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="planned twice: decode/b1 step_time"):
        decide(RunBuilder(family=[series(), series()]).run(), CONFIG)


def sentence(verdict: Verdict) -> str:
    return verdict.series[0].reason


def test_a_regression_is_explained_in_one_sentence() -> None:
    verdict = decide(noisy(1, 0.08, 8), CONFIG)
    assert re.fullmatch(
        r"decode/b1 step_time P50 is \d\.\d % slower \(95 % interval \d\.\d to \d+\.\d %\), "
        r"16\+16 launches; without a change, evidence this strong appears less than once in "
        r"[\d,]+ runs",
        sentence(verdict),
    )
    assert verdict.reason == f"1 regressed, of 1 series; {sentence(verdict)}"


def test_unchanged_is_explained_by_a_limit_on_the_right_side_of_the_threshold() -> None:
    limits = []
    for seed in range(40):
        for better, sign in (("lower", 1), ("higher", -1)):
            found = only(noisy(seed, 0.0, 2, better=better))
            if found.outcome == "unchanged":
                said = re.search(r"at worst ([+-][\d.]+) %: .* 4\+4 launches$", found.reason)
                assert said is not None
                limits.append(sign * float(said[1]))
    assert len(limits) > 40
    assert max(limits) <= 3.0


def test_the_odds_in_a_sentence_never_flatter_the_evidence() -> None:
    verdict = decide(noisy(1, 0.08, 5), CONFIG)
    found = re.search(r"once in ([\d,]+) runs", sentence(verdict))
    assert found is not None
    odds = int(found[1].replace(",", ""))
    evidence = verdict.series[0].evidence or -inf
    assert 0.9 * 2.718281828**evidence <= odds <= 2.718281828**evidence


@pytest.mark.parametrize(
    ("spread", "said"),
    [
        (0.03, r"about \d+ launches a side would probably decide it"),
        (0.3, r"launches vary too much: a quieter machine"),
    ],
)
def test_doubt_says_what_it_would_take(spread: float, said: str) -> None:
    builder = RunBuilder()
    for number in range(4):
        pair = [1 - spread, 1 + spread]
        builder.block(number, {"base": pair, "head": pair[::-1]})
    found = only(builder.run())
    assert found.outcome == "inconclusive"
    assert re.search(said, found.reason)


@given(st.integers(0, 200), st.sampled_from([-0.05, 0.0, 0.02, 0.03, 0.05]))
def test_what_stops_the_sampling_also_decides(seed: int, change: float) -> None:
    whole = noisy(seed, change, 8)
    watch, used = Watch(whole.plan, CONFIG), 0
    for block in blocks(whole.launches):
        assert not watch.decided("decode")
        assert watch.add(block)
        used += len(block)
        if watch.decided("decode"):
            break
    found = only(whole.model_copy(update={"launches": whole.launches[:used]}))
    names = {"regress": "regressed", "improve": "improved", "pass": "unchanged"}
    verdict = str(watch.of("decode")[0].verdict)
    assert found.outcome == names.get(verdict, verdict)


def test_the_launch_sd_is_the_same_in_numbers_and_in_the_sentence() -> None:
    builder = RunBuilder()
    for number in range(8):
        builder.block(number, {"base": [1.0, 2.0], "head": [2.0, 1.0]})
    (found,) = decide(builder.run(), GateConfig()).series
    sd = log(2) / sqrt(2)  # of two launches of a side
    assert found.launch_sd_pct == pytest.approx(100 * (exp(sd) - 1))
    assert "launch sd 63 % (more than the threshold" in found.reason
    assert "takes 99 % confidence" in found.reason


def test_a_pass_tells_the_confidence_that_it_took() -> None:
    # a launch sd of 3.5 %, log(1.05) / sqrt(2): all pairs differ by -8 %, so that no limit is near
    builder = RunBuilder()
    for number in range(2):
        builder.block(number, {"base": [1.0, 1.05], "head": [0.92, 0.966]})
    (found,) = decide(builder.run(), GateConfig()).series
    assert found.outcome == "unchanged"
    assert "with 99 % confidence at worst -8.0 %" in found.reason
    (calm,) = decide(RunBuilder().blocks(2, 1.0, 1.005).run(), GateConfig()).series
    assert "with 95 % confidence" in calm.reason


def test_launches_that_gave_no_value_of_a_series_are_told() -> None:
    builder = RunBuilder(family=[series("decode/b1"), series("decode/b2")])
    both, one = {"decode/b1": 1.0, "decode/b2": 1.0}, {"decode/b1": 1.0}
    builder.block(0, {"base": [both, one], "head": [both, both]})
    for number in range(1, 5):
        builder.block(number, {"base": [both, both], "head": [both, both]})
    verdict = decide(builder.run(), GateConfig())
    assert {found.outcome for found in verdict.series} == {"unchanged"}
    told = (
        "decode/b2 step_time: launches that gave no value of it: 1 base, 0 head; "
        "their blocks are left out"
    )
    assert told in verdict.problems


def test_a_difference_of_percentages_is_told_in_points() -> None:
    builder = RunBuilder(family=[series(unit="%", better="higher", threshold_abs=0.5)])
    for number in range(8):
        builder.block(number, {"base": [90.0, 90.01], "head": [88.5, 88.51]})
    (found,) = decide(builder.run(), GateConfig()).series
    assert "is 1.5 points lower" in found.reason
    assert seen(found) == "\N{MINUS SIGN}1.5 points"
