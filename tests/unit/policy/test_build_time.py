"""How long the build takes: within its limits, beyond them, or not known, which is no pass."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.config import GateConfig, parse_config
from ciwm.errors import INCONCLUSIVE, NO, OK, ConfigError
from ciwm.policy import Waivers, conclusion, decide, exit_code, of_builds
from ciwm.report.headline import headline
from ciwm.waivers import Waiver
from tests.runs import RunBuilder, build

if TYPE_CHECKING:
    from ciwm.records import BuildRecord, Run, SeriesVerdict, Verdict

GROWTH = {"build_growth": "25%"}
LIMIT = {"build_limit": "30min"}


def took(side: Any, seconds: float, status: Any = "built") -> BuildRecord:
    return build(side).model_copy(update={"duration_s": seconds, "status": status})


def run(base: BuildRecord | None, head: BuildRecord | None, **plan: Any) -> Run:
    """A run in which nothing changed but what the builds took."""
    builder = RunBuilder(arms={"base": {"build": base}, "head": {"build": head}}, plan=plan)
    return builder.blocks(2, 10, 10).run()


def row(verdict: Verdict) -> SeriesVerdict:
    (found,) = [one for one in verdict.series if one.of_build]
    return found


@pytest.mark.parametrize(
    ("gate", "base_s", "head_s", "outcome", "said"),
    [
        (GROWTH, 100, 125, "unchanged", "took 125.0 s and base's 100.0 s, within their build_grow"),
        (GROWTH, 100, 126, "regressed", "took 126.0 s and base's 100.0 s, beyond their build_grow"),
        (GROWTH, 100, 50, "unchanged", "within their build_growth of 25 %"),
        (GROWTH, 4, 12, "unchanged", "less than 10.0 s longer never counts"),
        ({**GROWTH, "build_growth_floor": "5s"}, 4, 12, "regressed", "beyond their build_growth"),
        (LIMIT, 1, 1800, "unchanged", "took 1,800.0 s, within its build_limit of 1,800.0 s"),
        (LIMIT, 1, 1801, "regressed", "took 1,801.0 s, beyond its build_limit of 1,800.0 s"),
        ({**LIMIT, **GROWTH}, 1000, 1300, "regressed", "beyond their build_growth of 25 %"),
        ({**LIMIT, **GROWTH}, 1700, 1900, "regressed", "beyond its build_limit"),
    ],
)
def test_a_build_is_judged_by_the_limits_it_is_given(
    gate: dict[str, Any], base_s: float, head_s: float, outcome: str, said: str
) -> None:
    config = GateConfig.model_validate(gate)
    verdict = decide(run(took("base", base_s), took("head", head_s)), config)

    found = row(verdict)
    assert (found.outcome, found.base_value, found.head_value) == (outcome, base_s, head_s)
    assert found.ratio == pytest.approx(head_s / base_s)
    assert said in found.reason
    blocked = outcome == "regressed"
    assert exit_code(verdict, config) == (NO if blocked else OK)
    assert conclusion(verdict) == ("failure" if blocked else "success")


def test_without_limits_builds_are_not_judged() -> None:
    verdict = decide(run(took("base", 1), took("head", 9000)), GateConfig())
    assert not any(one.of_build for one in verdict.series)


@pytest.mark.parametrize(
    ("base", "head", "gate", "said"),
    [
        (took("base", 9, "cached"), took("head", 9), GROWTH, "base was taken from the cache"),
        (took("base", 9), took("head", 9, "cached"), GROWTH, "head was taken from the cache"),
        (took("base", 9), took("head", 9, "cached"), LIMIT, "head was taken from the cache"),
        (build("base", ok=False), took("head", 9), GROWTH, "base did not build (failed)"),
        (None, None, LIMIT, "head was not built in this job"),
    ],
)
def test_a_time_that_is_not_known_is_doubt_and_no_pass(
    base: BuildRecord | None, head: BuildRecord | None, gate: dict[str, Any], said: str
) -> None:
    config = GateConfig.model_validate({**gate, "on_inconclusive": "fail"})
    verdict = decide(run(base, head), config)
    assert row(verdict).outcome == "inconclusive"
    assert said in row(verdict).reason
    assert exit_code(verdict, config) == INCONCLUSIVE
    assert conclusion(verdict) == "neutral"


def test_a_limit_that_is_broken_blocks_even_where_growth_is_not_known() -> None:
    config = GateConfig.model_validate({**LIMIT, **GROWTH})
    verdict = decide(run(took("base", 9, "cached"), took("head", 9000)), config)
    assert verdict.outcome == "fail"


def test_a_head_that_does_not_build_is_told_by_its_series_alone() -> None:
    config = GateConfig.model_validate(LIMIT)
    verdict = decide(run(took("base", 9), build("head", ok=False)), config)
    assert verdict.outcome == "fail"
    assert not any(one.of_build for one in verdict.series)


def test_builds_of_two_jobs_are_not_compared() -> None:
    config = GateConfig.model_validate(GROWTH)
    verdict = decide(run(took("base", 9), took("head", 900), order="apart"), config)
    assert row(verdict).outcome == "inconclusive"


def test_samples_of_another_tool_are_not_asked_for_their_builds() -> None:
    config = GateConfig.model_validate({**LIMIT, **GROWTH})
    verdict = decide(run(None, None, order="unknown"), config)
    assert not any(one.of_build for one in verdict.series)


def test_a_run_without_any_series_fails_however_quick_its_build() -> None:
    empty = RunBuilder(family=[]).run()
    assert decide(empty, GateConfig.model_validate(LIMIT)).outcome == "fail"


def test_what_block_on_leaves_out_is_told_and_neutral() -> None:
    config = GateConfig.model_validate({**LIMIT, "block_on": ["regression", "failed"]})
    verdict = decide(run(took("base", 9), took("head", 9000)), config)
    assert row(verdict).outcome == "regressed"
    assert exit_code(verdict, config) == OK
    assert conclusion(verdict) == "neutral"


def test_a_rule_for_all_series_does_not_unblock_the_build() -> None:
    everything = {"match": "*", "block_on": ["failed"]}
    config = GateConfig.model_validate({**LIMIT, "series": [everything]})
    assert decide(run(took("base", 9), took("head", 9000)), config).outcome == "fail"


def test_a_rule_of_a_series_cannot_name_the_build() -> None:
    text = b'[[gate.series]]\nmatch = "x"\nblock_on = ["build_time"]\n'
    with pytest.raises(ConfigError, match=r"state it in block_on of \[gate\]"):
        parse_config(text, "ciwm.toml")


def test_a_longer_build_waits_for_its_confirmation() -> None:
    config = GateConfig.model_validate({**GROWTH, "confirm": True})
    first = run(took("base", 100), took("head", 200))
    alone = decide(first, config)
    assert (row(alone).outcome, row(alone).needs_confirmation) == ("inconclusive", True)

    for seconds, outcome in ((190, "regressed"), (101, "inconclusive")):
        second = run(took("base", 100), took("head", seconds), seed=21)
        second = second.model_copy(update={"id": "r2", "plan": second.plan})
        assert row(decide(first, config, second)).outcome == outcome


def waivers(**changes: Any) -> Waivers:
    told: dict[str, Any] = {
        "series": "build",
        "reason": "new kernels",
        "author": "@a",
        "issue": "#1",
    }
    told |= {"expires": date(2026, 12, 31), **changes}
    return Waivers((Waiver.model_validate(told),), date(2026, 5, 4))


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"ceiling": "60%"}, "waived"),
        ({"ceiling": "40%"}, "regressed"),
        ({"ceiling_abs": 55}, "waived"),
        ({"ceiling_abs": 45}, "regressed"),
        ({"ceiling": "60%", "expires": date(2026, 5, 3)}, "regressed"),
        ({"ceiling": "60%", "metric": "step_time"}, "regressed"),
    ],
)
def test_a_waiver_covers_growth_up_to_its_ceiling(changes: dict[str, Any], outcome: str) -> None:
    config = GateConfig.model_validate(GROWTH)
    verdict = decide(run(took("base", 100), took("head", 150)), config, None, waivers(**changes))
    assert row(verdict).outcome == outcome
    assert conclusion(verdict) == ("neutral" if outcome == "waived" else "failure")


def test_a_limit_is_not_waived() -> None:
    config = GateConfig.model_validate(LIMIT)
    found = decide(
        run(took("base", 1799), took("head", 1801)), config, None, waivers(ceiling="60%")
    )
    assert row(found).outcome == "regressed"
    assert "no waiver reaches beyond [gate] build_limit" in row(found).reason


def test_builds_alone_are_judged_where_there_is_no_benchmark() -> None:
    config = GateConfig.model_validate(LIMIT)
    assert of_builds((took("base", 9), took("head", 9)), GateConfig()) is None
    verdict = of_builds((took("base", 9), took("head", 9000)), config)
    assert verdict is not None
    assert verdict.outcome == "fail"
    line = headline((), (took("base", 9), took("head", 9000)), None, verdict)
    assert line == "Head's build takes too long (×1e+03); no benchmark ran"


def test_the_headline_tells_of_benchmarks_and_the_build_apart() -> None:
    config = GateConfig.model_validate(GROWTH)
    verdict = decide(run(took("base", 100), took("head", 150)), config)
    builds = (took("base", 100), took("head", 150))
    line = headline((), builds, None, verdict)
    assert line == "Head's build takes too long (+50.0%); no slowdown in 1 benchmark"
