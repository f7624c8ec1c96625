from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, cast

from ciwm.bench.schedule import Schedule, Turn
from ciwm.config import GateConfig
from ciwm.records import Launch, Plan, Revision, Samples, Series, Telemetry
from ciwm.stats.gate import block_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.records import Side
    from ciwm.records.run import ExitReason

NOISY = (1.0, 1.5, 1.1, 1.6, 1.0, 1.7)  # never decided soon


def plan(*workloads: str, max_launches: int = 16) -> Plan:
    family = tuple(
        Series(
            series=name,
            metric="step_time",
            workload=name,
            unit="s",
            better="lower",
            threshold_pct=3,
        )
        for name in workloads
    )
    return Plan(
        seed=3,
        max_launches=max_launches,
        family=family,
        family_size=len(family),
        workloads=workloads,
        workloads_from=Revision(ref="head", sha="a" * 40, tree="b" * 40),
    )


def sides(workload: str, number: int, attempt: int) -> tuple[Side, ...]:
    return cast("tuple[Side, ...]", block_order(3, workload, number, attempt))


def block(
    turn: Turn, value: float = 1.0, exits: Mapping[int, ExitReason] | None = None
) -> list[Launch]:
    return [
        Launch(
            number=position + 1,
            workload=turn.workload,
            side=side,
            block=turn.block,
            attempt=turn.attempt,
            position=position,
            started_at=datetime(2026, 1, 1, tzinfo=timezone.utc),
            duration_s=1.0,
            exit=(exits or {}).get(position, "ok"),
            samples=(
                Samples(
                    series=turn.workload,
                    metric="step_time",
                    values=(value * (1 + 0.3 * (position % 2)),),
                ),
            ),
        )
        for position, side in enumerate(turn.sides)
    ]


def schedule(*workloads: str, max_launches: int = 16) -> Schedule:
    config = GateConfig(max_launches=max_launches)
    return Schedule(plan(*workloads, max_launches=max_launches), config)


def test_workloads_take_turns_block_by_block() -> None:
    asked = schedule("a", "b", "c")
    turns = []
    for number in range(6):
        turn = asked.next_turn(100)
        assert turn is not None
        turns.append((turn.workload, turn.block))
        asked.take(block(turn, NOISY[number]))

    assert turns == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1), ("c", 1)]


def test_a_workload_gets_no_more_blocks_than_the_plan_allows() -> None:
    asked = schedule("a", max_launches=6)
    count = 0
    while turn := asked.next_turn(100):
        asked.take(block(turn, NOISY[count]))
        count += 1

    assert count == 3
    assert asked.undecided == ()


def test_a_block_that_does_not_count_is_drawn_anew_as_the_next_attempt() -> None:
    asked = schedule("a")
    first = asked.next_turn(100)
    assert first is not None

    assert not asked.take(block(first)[:3])
    again = asked.next_turn(100)

    assert again == Turn("a", 0, 1, sides("a", 0, 1))


def test_a_side_that_fails_and_never_ran_ends_its_workload_but_not_the_others() -> None:
    asked = schedule("a", "b")
    turn = asked.next_turn(100)
    assert turn is not None
    heads = [position for position, side in enumerate(turn.sides) if side == "head"]

    asked.take(block(turn, exits=dict.fromkeys(heads, "failed")))

    assert asked.undecided == ("b",)


def test_why_a_workload_gets_no_more_launches_is_told() -> None:
    asked = schedule("failing", "discarded", "counted", max_launches=4)
    hot = Telemetry(accelerator=0, throttle_reasons=("hw_thermal_slowdown",))
    while turn := asked.next_turn(100):
        heads = [position for position, side in enumerate(turn.sides) if side == "head"]
        fails = dict.fromkeys(heads, "failed") if turn.workload == "failing" else None
        launches = block(turn, NOISY[turn.block], exits=cast("dict[int, ExitReason]", fails))
        if turn.workload == "discarded":
            launches = [one.model_copy(update={"telemetry": (hot,)}) for one in launches]
        asked.take(launches)

    assert asked.why_no_more("failing") == "no more launches: head failed"
    assert asked.why_no_more("discarded").startswith("no more launches: void: 3 blocks")
    assert asked.why_no_more("counted") == "enough launches"
    assert schedule("new").why_no_more("new") == "no more launches: none ran"


def test_interrupted_launches_are_not_held_against_a_workload() -> None:
    asked = schedule("a")
    for _ in range(4):
        turn = asked.next_turn(100)
        assert turn is not None
        asked.take(block(turn, exits=dict.fromkeys(range(4), "interrupted")))

    assert asked.undecided == ("a",)
    assert not asked.has_outcome("a", "base")


def test_what_does_not_fit_is_passed_over_for_what_does() -> None:
    asked = schedule("long", "short")
    for seconds in (60.0, 2.0):
        turn = asked.next_turn(100)
        assert turn is not None
        asked.take(block(turn), took_s=seconds)

    turn = asked.next_turn(10)
    assert turn is not None
    assert turn.workload == "short"
    assert asked.next_turn(1) is None
    assert asked.undecided == ("long", "short")


def test_a_restored_schedule_goes_on_as_the_first_would_have() -> None:
    first, second = schedule("a", "b"), schedule("a", "b")
    launches = []
    for number in range(3):
        turn = first.next_turn(100)
        assert turn is not None
        made = block(turn, NOISY[number], exits={1: "failed"} if number == 1 else None)
        first.take(made)
        launches += made

    second.restore(launches)

    assert second.next_turn(100) == first.next_turn(100) == Turn("b", 0, 1, sides("b", 0, 1))
