"""Attempts to make the gate lie: dropped blocks, hidden slowness, waivers for all, odd clocks."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.config import GateConfig
from ciwm.policy import Waivers, conclusion, decide
from ciwm.records.run import LOADED_NOTHING
from ciwm.waivers import Waiver
from tests.runs import REVISIONS, RunBuilder, series

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.records import Launch, Run, Side, Verdict

    Change = Callable[[Launch], Launch]


def slower_in_some_blocks() -> Run:
    """Of six blocks, those with an even number are slower by a fifth."""
    builder = RunBuilder()
    for number in range(6):
        builder.blocks(1, 10, 12 if number % 2 == 0 else 10, start=number)
    return builder.run()


def kept(run: Run, *numbers: int) -> Run:
    launches = tuple(launch for launch in run.launches if launch.block in numbers)
    return run.model_copy(update={"launches": launches})


def changed(run: Run, change: Change) -> Run:
    return run.model_copy(update={"launches": tuple(map(change, run.launches))})


def outcome(verdict: Verdict) -> str:
    (row,) = verdict.series
    return row.outcome


def test_blocks_that_were_dropped_make_a_run_void() -> None:
    verdict = decide(kept(slower_in_some_blocks(), 1, 3, 5), GateConfig())
    assert outcome(verdict) == "void"
    assert "3 blocks are not in the run" in verdict.series[0].reason


def test_an_enormous_block_number_is_void_and_costs_nothing() -> None:
    run = RunBuilder().blocks(4, 10, 10).block(10**15, {"base": [1, 1], "head": [1, 1]}).run()
    assert outcome(decide(run, GateConfig())) == "void"


def test_a_block_that_lost_a_launch_makes_a_run_void() -> None:
    run = RunBuilder().blocks(6, 10, 12).run()
    torn = [one for one in run.launches if (one.block, one.position) != (2, 1)]
    verdict = decide(run.model_copy(update={"launches": tuple(torn)}), GateConfig())
    assert outcome(verdict) == "void"


def test_a_torn_block_that_was_drawn_anew_is_none() -> None:
    builder = RunBuilder().blocks(6, 10, 12)
    builder.block(2, {"base": [10, 10], "head": [12, 12]}, attempt=1)
    run = builder.run()
    torn = [one for one in run.launches if (one.block, one.attempt, one.position) != (2, 0, 1)]
    verdict = decide(run.model_copy(update={"launches": tuple(torn)}), GateConfig())
    assert outcome(verdict) == "regressed"


def test_a_block_that_was_interrupted_beside_others_is_none_that_was_dropped() -> None:
    builder = RunBuilder().blocks(2, 10, 12)
    stopped = {"base": ["interrupted", "lost"], "head": ["ok", "ok"]}
    builder.block(2, {"base": [10, 10], "head": [12, 12]}, exits=stopped)  # type: ignore[arg-type]
    builder.blocks(3, 10, 12, start=3)
    assert outcome(decide(builder.run(), GateConfig())) == "regressed"


def test_a_block_that_is_there_twice_does_not_hide_itself() -> None:
    run = RunBuilder().blocks(6, 10, 12).run()
    twice = [launch for launch in run.launches if launch.block == 2]
    verdict = decide(run.model_copy(update={"launches": (*run.launches, *twice)}), GateConfig())
    assert outcome(verdict) == "void"


@pytest.mark.parametrize("last", [0, 5])
def test_blocks_that_are_there_twice_make_a_run_void_even_if_none_is_left(last: int) -> None:
    run = RunBuilder().blocks(6, 10, 12).run()
    again = tuple(one for one in run.launches if one.block >= last)
    verdict = decide(run.model_copy(update={"launches": (*run.launches, *again)}), GateConfig())
    assert outcome(verdict) == "void"
    assert "there twice" in verdict.series[0].reason


def test_the_order_in_a_file_is_not_the_order_of_launches() -> None:
    run = slower_in_some_blocks()
    backwards = run.model_copy(update={"launches": tuple(reversed(run.launches))})
    assert decide(backwards, GateConfig()) == decide(run, GateConfig())


def test_a_clock_that_goes_backwards_changes_nothing() -> None:
    run = RunBuilder().blocks(6, 10, 12).run()

    def earlier(launch: Launch) -> Launch:
        return launch.model_copy(
            update={"started_at": launch.started_at - timedelta(hours=2 * launch.number)}
        )

    assert decide(changed(run, earlier), GateConfig()) == decide(run, GateConfig())


def test_a_side_that_never_loads_its_own_build_is_void() -> None:
    def elsewhere(launch: Launch) -> Launch:
        detail = LOADED_NOTHING if launch.side == "head" else ""
        return launch.model_copy(update={"detail": detail})

    verdict = decide(changed(RunBuilder().blocks(4, 10, 10).run(), elsewhere), GateConfig())
    assert outcome(verdict) == "void"
    assert "head alone never loaded anything from its own build" in verdict.series[0].reason


def took(seconds: float) -> Change:
    """Head's launches take that long as a whole, base's a second."""

    def change(launch: Launch) -> Launch:
        whole_s = seconds if launch.side == "head" else 1.0
        return launch.model_copy(update={"duration_s": whole_s + launch.block / 1000})

    return change


def test_a_head_that_slows_only_its_warm_up_or_reads_a_false_clock_is_warned_of() -> None:
    run = RunBuilder().blocks(4, 10, 10).run()
    verdict = decide(changed(run, took(3)), GateConfig())
    assert outcome(verdict) == "unchanged"
    (said,) = [line for line in verdict.problems if "as a whole" in line]
    assert said.startswith(
        "warning only: each decode launch of head took longer as a whole than each of base "
        "(3 s instead of 1 s)"
    )


@pytest.mark.parametrize(("seconds", "hangs"), [(570, True), (1.9, False)])
def test_a_head_that_hangs_until_the_budget_is_spent_is_pointed_out(
    seconds: float, *, hangs: bool
) -> None:
    built = RunBuilder()
    built.block(0, {"base": [1, 1], "head": [1, 1]}, exits={"head": ["interrupted"] * 2})
    verdict = decide(changed(built.run(complete=False), took(seconds)), GateConfig())
    said = [line for line in verdict.problems if "does it hang?" in line]
    assert bool(said) == hangs
    start = "decode: a launch of head was stopped after 570 s, and none that ended took more than 1"
    assert all(line.startswith(start) for line in said)


@pytest.mark.parametrize(("seconds", "head"), [(1.9, 10), (1.1, 10), (3, 12)])
def test_a_small_or_an_explained_difference_is_not_warned_of(seconds: float, head: float) -> None:
    run = RunBuilder().blocks(4, 10, head).run()
    verdict = decide(changed(run, took(seconds)), GateConfig())
    assert not any("as a whole" in line for line in verdict.problems)


def test_one_head_launch_as_quick_as_base_is_no_warning() -> None:
    run = RunBuilder().blocks(4, 10, 10).run()
    first = next(launch.number for launch in run.launches if launch.side == "head")

    def slow_but_one(launch: Launch) -> Launch:
        return took(1)(launch) if launch.number == first else took(3)(launch)

    verdict = decide(changed(run, slow_but_one), GateConfig())
    assert not any("as a whole" in line for line in verdict.problems)


def constant(**fields: Any) -> Verdict:
    builder = RunBuilder(family=[series(**fields)])
    for number in range(4):
        builder.block(number, {"base": [10.0, 10.0], "head": [10.0, 10.0]})
    return decide(builder.run(), GateConfig())


def test_a_time_that_never_varies_is_asked_whether_it_is_measured() -> None:
    assert any("no clock does; is it measured at all?" in line for line in constant().problems)


def test_a_count_that_never_varies_is_as_it_should_be() -> None:
    assert constant(metric="spills", unit="count").problems == ()


def test_a_revision_against_itself_is_said_to_be_that() -> None:
    arms: dict[Side, Any] = {
        "base": {"revision": REVISIONS["head"]},
        "head": {"revision": REVISIONS["head"]},
    }
    verdict = decide(RunBuilder(arms=arms).blocks(4, 10, 10).run(), GateConfig())
    assert any("noise was compared with noise" in line for line in verdict.problems)


def test_a_calibration_is_said_to_be_one() -> None:
    builder = RunBuilder(plan={"purpose": "calibrate"}).blocks(4, 10, 10)
    assert any(
        "this run calibrates" in line for line in decide(builder.run(), GateConfig()).problems
    )


def test_blocks_that_were_interrupted_are_counted() -> None:
    builder = RunBuilder()
    stopped = {"base": ["interrupted", "lost"], "head": ["ok", "ok"]}
    builder.block(0, {"base": [10, 10], "head": [12, 12]}, exits=stopped)  # type: ignore[arg-type]
    builder.block(0, {"base": [10, 10], "head": [10, 10]}, attempt=1).blocks(3, 10, 10, start=1)
    problems = decide(builder.run(), GateConfig()).problems
    assert "decode: 1 block was interrupted, and left out" in problems


def test_a_second_run_is_judged_by_the_thresholds_of_the_first() -> None:
    config = GateConfig(confirm=True)
    first = RunBuilder().blocks(6, 10, 10.5).run()
    loose = RunBuilder(family=[series(threshold_pct=90.0)], seed=21).blocks(6, 10, 10.5).run()
    loose = loose.model_copy(update={"id": "r2"})
    assert outcome(decide(first, config, loose)) == "regressed"


def waived(**changes: Any) -> Verdict:
    told: dict[str, Any] = {"ceiling": "30%", "reason": "known", "author": "@a", "issue": "#1"}
    told |= {"series": "*", "expires": date(2026, 12, 31), **changes}
    names = ("decode/b1", "decode/b2")
    builder = RunBuilder(family=[series(name) for name in names]).blocks(6, 10, 12)
    waivers = Waivers((Waiver.model_validate(told),), date(2026, 5, 4))
    return decide(builder.run(), GateConfig(), None, waivers)


def test_a_waiver_for_everything_is_remarked() -> None:
    verdict = waived()
    assert conclusion(verdict) == "neutral"
    assert any("covers 2 series" in line for line in verdict.problems)
    assert not any("covers" in line for line in waived(series="decode/b1").problems)


def test_a_waiver_without_an_end_is_remarked() -> None:
    said = "holds until 9999-12-31: that is more than a year"
    assert any(said in line for line in waived(expires=date(9999, 12, 31)).problems)
    assert not any("more than a year" in line for line in waived().problems)
