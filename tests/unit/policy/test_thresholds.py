"""Thresholds by series, metric and pattern, in percent and in the metric's unit."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ciwm.config import Config, GateConfig, parse_config
from ciwm.policy import by_policy_of, conclusion, decide
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from ciwm.records import Run, SeriesVerdict


def gate(text: str) -> GateConfig:
    config = parse_config(f"[gate]\n{text}".encode(), "ciwm.toml")
    assert config is not None
    return config.gate


def only(run: Run, config: GateConfig) -> SeriesVerdict:
    (found,) = decide(run, config).series
    return found


def slower_by(percent: float) -> Run:
    return RunBuilder().blocks(8, 1.0, 1 + percent / 100).run()


def around(base: float, head: float, *, spread: float, seed: int = 4, **fields: Any) -> RunBuilder:
    """Eight blocks of launches with that spread around two values."""
    rng = random.Random(seed)
    builder = RunBuilder(family=[series(**fields)])
    for number in range(8):
        sides = {"base": base, "head": head}
        values = {side: [rng.gauss(mean, spread) for _ in "ab"] for side, mean in sides.items()}
        builder.block(number, values)
    return builder


RULES = """
[[gate.series]]
match = "decode/*"
metric = "step_time"
threshold = "10%"
[[gate.series]]
match = "decode"
threshold = "1%"
"""


@pytest.mark.parametrize(
    ("family", "threshold"),
    [
        ({"name": "decode/b1"}, 10.0),
        ({"name": "decode/b1", "metric": "ttft"}, 1.0),  # by its workload
        ({"name": "train", "threshold_pct": 7.0}, 7.0),
    ],
)
def test_the_first_rule_that_matches_gives_the_threshold(
    family: dict[str, Any], threshold: float
) -> None:
    run = RunBuilder(family=[series(**family)]).run()
    assert only(run, gate(RULES)).threshold_pct == threshold


def test_a_rule_decides_what_blocks() -> None:
    run = slower_by(6)
    assert only(run, gate("")).outcome == "regressed"
    assert only(run, gate(RULES)).outcome == "unchanged"


def test_a_series_that_a_rule_does_not_let_block_is_regressed_and_neutral() -> None:
    config = gate('[[gate.series]]\nmatch = "decode/*"\nblock_on = ["failed"]')
    verdict = decide(slower_by(6), config)
    assert verdict.series[0].outcome == "regressed"
    assert verdict.outcome == "pass"
    assert conclusion(verdict) == "neutral"


def test_a_rule_may_let_one_series_block_where_others_only_report() -> None:
    config = gate('block_on = []\n[[gate.series]]\nmatch = "decode/*"\nblock_on = ["regression"]')
    family = [series("decode/b1"), series("train")]
    builder = RunBuilder(family=family).blocks(8, 1.0, 1.06).blocks(8, 1.0, 1.2, workload="train")
    verdict = decide(builder.run(), config)
    assert verdict.outcome == "fail"
    assert "decode/b1 step_time is 6.0 % slower" in verdict.reason


def test_a_rule_that_matches_nothing_is_named() -> None:
    config = gate('[[gate.series]]\nmatch = "decod/*"\nthreshold = "1%"')
    (problem,) = decide(slower_by(0), config).problems
    assert problem == "[[gate.series]] match = 'decod/*', metric = '*' matches no series"


def test_the_thresholds_of_another_configuration_take_the_place_of_the_plans() -> None:
    declared = Config.model_validate(
        {
            "gate": {"threshold": "2%"},
            "workload": [
                {"id": "decode", "python": "a.py:f"},
                {
                    "id": "rss",
                    "command": "x",
                    "metrics": {"peak": {"unit": "MiB", "better": "lower", "threshold_abs": 5}},
                },
            ],
        }
    )
    family = [
        series(threshold_pct=50.0),
        series("rss", metric="peak", threshold_pct=50.0, noise=0.01),
        series("new", threshold_pct=50.0),
    ]
    plan = by_policy_of(RunBuilder(family=family).run().plan, declared)
    assert [(one.threshold_pct, one.threshold_abs) for one in plan.family] == [
        (2, None),
        (2, 5),
        (50, None),
    ]
    assert plan.family[1].noise is None  # it was a log, and is no MiB


@pytest.mark.parametrize(
    ("base", "head", "outcome"),
    [
        (0.0, 0.0, "unchanged"),
        (0.0, 9.0, "regressed"),
        (-40.0, -31.0, "regressed"),
        (-40.0, -49.0, "improved"),
        (3.0, -6.0, "improved"),
        (1e6, 1e6 + 9, "regressed"),
    ],
)
def test_an_absolute_threshold_judges_values_of_any_sign(
    base: float, head: float, outcome: str
) -> None:
    builder = around(base, head, spread=0.5, metric="delta", unit="MiB", threshold_abs=5.0)
    found = only(builder.run(), GateConfig())
    assert found.outcome == outcome
    assert found.difference == pytest.approx(head - base, abs=1)
    assert found.ratio is None
    assert found.difference is not None
    low, high = found.difference_low, found.difference_high
    assert low is not None
    assert high is not None
    assert low <= found.difference <= high


def test_higher_is_better_turns_the_difference_around() -> None:
    fields: dict[str, Any] = {
        "metric": "accuracy",
        "unit": "points",
        "better": "higher",
        "threshold_abs": 1.0,
    }
    found = only(around(71.0, 68.0, spread=0.1, **fields).run(), GateConfig())
    assert found.outcome == "regressed"
    assert found.difference == pytest.approx(-3, abs=0.2)
    assert " points lower (95 % interval " in found.reason


def test_an_absolute_change_is_explained_in_its_unit() -> None:
    found = only(
        around(100.0, 109.0, spread=0.5, metric="rss", unit="MiB", threshold_abs=5.0).run(),
        GateConfig(),
    )
    assert re.match(
        r"decode/b1 rss is [89]\.\d+ MiB higher \(95 % interval [89][.\d]* to 9\.\d+ MiB\), 16\+16",
        found.reason,
    )


def test_an_unchanged_difference_says_which_one_is_excluded() -> None:
    found = only(
        around(0.0, 0.2, spread=0.1, metric="loss", unit="nats", threshold_abs=5.0).run(),
        GateConfig(),
    )
    assert "loss: +0." in found.reason
    assert "short of the threshold of 5 nats" in found.reason


@given(scale=st.floats(1e-9, 1e9), seed=st.integers(0, 30), change=st.sampled_from([0.0, 6.0]))
def test_measuring_differences_in_another_unit_changes_no_outcome(
    scale: float, seed: int, change: float
) -> None:
    one = around(0.0, change, spread=1.0, seed=seed, threshold_abs=5.0)
    other = around(0.0, change * scale, spread=scale, seed=seed, threshold_abs=5.0 * scale)
    first, second = (only(each.run(), GateConfig()) for each in (one, other))
    assert first.outcome == second.outcome
    assert first.evidence == pytest.approx(second.evidence, abs=1e-6)


def test_counts_are_compared_exactly_by_an_absolute_threshold_too() -> None:
    def counted(head: int) -> str:
        builder = RunBuilder(family=[series(metric="spills", unit="count", threshold_abs=3.0)])
        for number in range(4):
            builder.block(number, {"base": [0, 0], "head": [head, head]})
        return only(builder.run(), GateConfig()).outcome

    assert [counted(head) for head in (0, 2, 3, 4)] == [
        "unchanged",
        "unchanged",
        "regressed",
        "regressed",
    ]


def test_values_at_or_below_zero_are_told_to_use_an_absolute_threshold() -> None:
    found = only(around(0.0, 9.0, spread=0.5, metric="delta", unit="MiB").run(), GateConfig())
    assert found.outcome == "void"
    assert "threshold_abs" in found.reason
