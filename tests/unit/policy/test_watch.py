"""When sampling stops."""

from __future__ import annotations

import pytest

from ciwm.config import GateConfig
from ciwm.policy import Watch, decide
from ciwm.policy.blocks import blocks
from ciwm.records import Telemetry
from tests.runs import RunBuilder, series

BOTH = {"base": [1.0, 1.0], "head": [1.0, 1.0]}


def watched(builder: RunBuilder, config: GateConfig = GateConfig()) -> Watch:  # noqa: B008
    run = builder.run()
    watch = Watch(run.plan, config)
    for block in blocks(run.launches):
        watch.add(block)
    return watch


def test_an_unchanged_workload_is_decided_after_two_blocks() -> None:
    builder = RunBuilder().blocks(1, 1.0, 1.0)
    assert not watched(builder).decided("decode")
    builder.blocks(1, 1.0, 1.0, start=1)
    assert watched(builder).decided("decode")


def test_a_workload_goes_on_until_each_of_its_series_is_decided() -> None:
    family = [series("decode/same"), series("decode/slow")]
    builder = RunBuilder(family=family)
    values = {
        "base": [{"decode/same": 1.0, "decode/slow": 1.0}] * 2,
        "head": [{"decode/same": 1.0, "decode/slow": 1.2}] * 2,
    }
    for number in range(3):
        assert not watched(builder).decided("decode")
        builder.block(number, values)
    assert not watched(builder).decided("decode")
    builder.block(3, values)
    assert watched(builder).decided("decode")


def test_workloads_are_decided_one_by_one() -> None:
    builder = RunBuilder(family=[series("a"), series("b")]).blocks(2, 1.0, 1.0, workload="a")
    watch = watched(builder)
    assert watch.decided("a")
    assert not watch.decided("b")


def test_a_workload_without_gated_series_needs_no_launches() -> None:
    assert watched(RunBuilder()).decided("nothing gated")


def test_sampling_stops_when_the_budget_is_spent() -> None:
    builder = RunBuilder(plan={"max_launches": 4})
    flip = {"base": [0.8, 1.2], "head": [1.2, 0.8]}
    builder.block(0, flip)
    assert not watched(builder).decided("decode")
    builder.block(1, flip)
    assert watched(builder).decided("decode")


def test_sampling_stops_when_the_budget_is_spent_on_a_series_that_is_often_absent() -> None:
    family = [series("decode/b1"), series("decode/b2")]
    both, one = {"decode/b1": 1.0, "decode/b2": 1.0}, {"decode/b1": 1.0}
    builder = RunBuilder(family=family, plan={"max_launches": 4})
    for number in range(2):
        builder.block(number, {"base": [both, one], "head": [one, both]})
    assert watched(builder).decided("decode")


@pytest.mark.parametrize("side", ["base", "head"])
def test_two_failures_of_a_side_are_enough(side: str) -> None:
    builder = RunBuilder().blocks(1, 1.0, 1.0)
    builder.block(1, BOTH, exits={side: ["failed", "ok"]})
    assert not watched(builder).decided("decode")
    builder.block(1, BOTH, attempt=1, exits={side: ["failed", "ok"]})
    assert watched(builder).decided("decode")


def test_a_workload_that_never_runs_is_given_up_after_its_first_block() -> None:
    builder = RunBuilder().block(0, BOTH, exits={"head": ["failed", "failed"]})
    assert watched(builder).decided("decode")


def test_three_discarded_blocks_and_none_kept_are_enough() -> None:
    hot = Telemetry(accelerator=0, throttle_reasons=("hw_slowdown",))
    builder = RunBuilder()
    for attempt in range(3):
        assert not watched(builder).decided("decode")
        builder.block(
            0, BOTH, attempt=attempt, telemetry={"base": [hot, None], "head": [None, None]}
        )
    assert watched(builder).decided("decode")


def test_a_block_counts_only_once_and_only_when_whole_and_clean() -> None:
    hot = Telemetry(accelerator=0, throttle_reasons=("hw_slowdown",))
    builder = RunBuilder()
    builder.block(0, BOTH, telemetry={"base": [None, None], "head": [None, hot]})
    builder.block(0, BOTH, attempt=1, exits={"base": ["ok", "timeout"]})
    builder.block(0, BOTH, attempt=2)
    builder.block(0, BOTH, attempt=3)
    run = builder.run()
    watch = Watch(run.plan, GateConfig())
    assert [watch.add(block) for block in blocks(run.launches)] == [False, False, True, False]
    assert not watch.add(run.launches[:3])


def test_launches_of_two_blocks_are_not_one_block() -> None:
    run = RunBuilder().blocks(2, 1.0, 1.0).run()
    with pytest.raises(ValueError, match="one block"):
        Watch(run.plan, GateConfig()).add(run.launches[2:6])


@pytest.mark.parametrize(("head", "goes_on"), [(0.9, True), (0.999, False)])
def test_proving_an_improvement_goes_on_until_it_is_proved_or_excluded(
    head: float, *, goes_on: bool
) -> None:
    proving = GateConfig(prove_improvement=True)
    builder = RunBuilder(family=[series(threshold_pct=3)], plan={"family_size": 40})
    builder.blocks(2, 1.0, head)
    assert watched(builder).decided("decode")
    assert watched(builder, proving).decided("decode") is not goes_on
    builder.blocks(6, 1.0, head, start=2)
    assert watched(builder, proving).decided("decode")
    assert decide(builder.run(), proving).series[0].outcome == (
        "improved" if goes_on else "unchanged"
    )


def test_a_calibration_uses_its_launches_up() -> None:
    builder = RunBuilder(plan={"purpose": "calibrate", "max_launches": 8}).blocks(3, 1.0, 1.0)
    assert not watched(builder).decided("decode")
    builder.blocks(1, 1.0, 1.0, start=3)
    assert watched(builder).decided("decode")
