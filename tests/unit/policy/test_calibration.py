"""Calibration: noise and its parts, what can be detected, ways out, and the gate's audit."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest

from ciwm.config import GateConfig
from ciwm.errors import ConfigError
from ciwm.policy import decide
from ciwm.policy.audit import audit
from ciwm.policy.calibration import calibrate
from ciwm.policy.first_guess import informed, latest, refuse_undetectable
from ciwm.records import Calibration, SeriesCalibration
from tests import records_examples as examples
from tests.runs import MACHINE, START, RunBuilder, series

CONFIG = GateConfig()


def itself(
    between: float, within: float, *, iterations: int = 40, family: Any = None, **plan: Any
) -> Calibration:
    """Sixteen launches a side of one build, with those sds between and within launches."""
    rng = random.Random(6)
    builder = RunBuilder(
        family=family or [series()],
        plan={"purpose": "calibrate", "family_size": 40, "max_launches": 16, **plan},
    )

    def launch() -> list[float]:
        level = rng.gauss(1, between)
        return [level * rng.gauss(1, within) for _ in range(iterations)]

    for number in range(8):
        builder.block(number, {"base": [launch(), launch()], "head": [launch(), launch()]})
    return calibrate(builder.run(), CONFIG, START, lambda _line: None)


def only(calibration: Calibration) -> SeriesCalibration:
    (found,) = calibration.series
    return found


def test_noise_is_split_into_what_is_between_launches_and_what_is_within() -> None:
    found = only(itself(0.01, 0.0))
    assert found.noise == pytest.approx(0.01, rel=0.3)
    assert found.between == pytest.approx(0.01, rel=0.3)
    assert found.within == pytest.approx(0, abs=1e-6)
    # the median of 40 normal values varies by 1.25 / sqrt(40) of their sd
    found = only(itself(0.0, 0.1))
    assert found.within == pytest.approx(0.1 * 1.25 / 40**0.5, rel=0.3)


def test_a_quiet_machine_detects_the_threshold_and_needs_no_way_out() -> None:
    found = only(itself(0.004, 0.01))
    assert found.detectable is not None
    assert found.blocked is not None
    assert found.detectable < 3 < found.blocked < 4.5
    assert found.ways_out == ()
    assert found.outcome == "unchanged"
    assert not found.alarm


def test_noise_between_launches_is_cured_by_more_of_them_or_by_a_quieter_machine() -> None:
    found = only(itself(0.015, 0.0))
    assert found.detectable is not None
    assert found.detectable > 3
    assert [way.way for way in found.ways_out] == ["launches", "quieter"]
    assert "max_launches = " in found.ways_out[0].words
    assert "pin launches to cores" in found.ways_out[1].words
    assert "100% is between launches" in found.ways_out[1].words


def test_noise_within_launches_is_cured_by_longer_ones_where_these_are_cheaper() -> None:
    # launches take a second, of which forty iterations of a millisecond are a twenty-fifth
    quick = series(unit="ms")
    found = only(itself(0.0, 0.09, family=[quick]))
    assert found.ways_out[0].way == "iterations"
    assert found.ways_out[0].cost < 1.5
    assert found.ways_out[0].words.startswith("iterations = ")


def test_a_card_is_quietened_by_its_clocks() -> None:
    rng = random.Random(6)
    builder = RunBuilder(plan={"purpose": "calibrate", "family_size": 40})
    card = examples.environment()
    builder.arms = {"base": {"environment": card}, "head": {"environment": card}}
    for number in range(8):
        builder.block(number, {s: [rng.gauss(1, 0.02) for _ in "ab"] for s in ("base", "head")})
    found = only(calibrate(builder.run(), CONFIG, START, lambda _line: None))
    assert any("hold the card's clock" in way.words for way in found.ways_out)


def test_differences_are_calibrated_in_their_unit() -> None:
    found = only(itself(1.0, 0.0, family=[series(unit="MiB", threshold_abs=50.0)]))
    assert found.noise == pytest.approx(1.0, rel=0.3)
    assert found.detectable is not None
    assert 1 < found.detectable < 6


def test_a_count_that_never_varies_has_no_noise_and_is_no_alarm() -> None:
    builder = RunBuilder(family=[series(metric="spills", unit="count")])
    for number in range(8):
        builder.block(number, {"base": [3, 3], "head": [3, 3]})
    found = only(calibrate(builder.run(), CONFIG, START, lambda _line: None))
    assert (found.noise, found.outcome, found.alarm) == (None, "unchanged", False)


def test_what_could_not_be_measured_is_kept_as_that() -> None:
    found = only(calibrate(RunBuilder().run(), CONFIG, START, lambda _line: None))
    assert (found.outcome, found.launches, found.noise) == ("missing", 0, None)
    assert audit([examples.calibration(series=(found,))]).runs == 0


def test_the_newest_calibration_of_the_machine_counts() -> None:
    mine = MACHINE.fingerprint
    old = examples.calibration(id="a", environment=MACHINE)
    new = examples.calibration(id="b", environment=MACHINE, at=old.at + timedelta(days=1))
    other = examples.calibration(id="c", at=old.at + timedelta(days=2))
    assert latest([new, other, old], mine) == new
    assert latest([other], mine) is None


def known(**fields: Any) -> Calibration:
    one = {**examples.calibration().series[1].model_dump(), "series": "decode/b1", **fields}
    return examples.calibration(series=(SeriesCalibration.model_validate(one),))


def test_a_plan_carries_what_is_known_of_its_series() -> None:
    plan = informed(RunBuilder().run().plan, CONFIG, known())
    assert (plan.family[0].noise, plan.family[0].detectable) == (0.03, 8.1)


@pytest.mark.parametrize(
    "other", [{"unit": "ms"}, {"better": "higher"}, {"threshold_abs": 1.0}, {"launches": 6}]
)
def test_another_quantity_or_too_few_launches_are_no_knowledge(other: dict[str, Any]) -> None:
    plan = RunBuilder().run().plan
    assert informed(plan, CONFIG, known(**other)) == plan


def test_a_threshold_that_cannot_be_detected_is_warned_of_or_refused() -> None:
    builder = RunBuilder().blocks(2, 1.0, 1.0)
    run = builder.run()
    plan = informed(run.plan, CONFIG, known())
    (said,) = decide(run.model_copy(update={"plan": plan}), CONFIG).problems
    assert said.startswith("decode/b1 step_time: its threshold of 3 % is below what this machine")
    assert "(8.1 %)" in said
    refuse_undetectable(plan, CONFIG)
    refusing = GateConfig(on_undetectable="refuse")
    with pytest.raises(ConfigError, match="below what this machine detects") as raised:
        refuse_undetectable(plan, refusing)
    assert "--calibrate" in raised.value.hint
    wide = GateConfig.model_validate({"on_undetectable": "refuse", "series": [{"threshold": "9%"}]})
    refuse_undetectable(plan, wide)


def test_the_gate_audits_itself() -> None:
    quiet = examples.calibration()
    alarming = examples.calibration(
        series=(quiet.series[0].model_copy(update={"outcome": "regressed", "alarm": True}),)
    )
    found = audit([quiet] * 9 + [alarming])
    assert (found.runs, found.alarming_runs, found.comparisons, found.alarms) == (10, 1, 19, 1)
    # 1 of 10: Clopper-Pearson's upper 95 % limit is 39.4 %
    assert found.words() == (
        "the gate audits itself: 19 A/A comparisons in 10 runs, 1 false alarm; at most 39 % of "
        "runs alarm (95 % confidence), 1 % is the promise"
    )
    assert "299 runs to confirm" in audit([quiet]).words()
    assert "unaudited" in audit([]).words()
