"""A regression that a second, independent run confirms, or does not."""

from __future__ import annotations

import random
from math import log
from typing import Any

import pytest

from ciwm.config import GateConfig
from ciwm.errors import UsageError
from ciwm.policy import conclusion, decide
from ciwm.records import Run, SeriesVerdict, Telemetry
from tests.runs import MACHINE, RunBuilder, series

CONFIRM = GateConfig(confirm=True)


def measured(
    change: float, name: str = "r1", *, seed: int = 20, blocks: int = 8, **fields: Any
) -> Run:
    """A run in which head is slower by `change`, launches with an sd of half a percent."""
    rng = random.Random(name)
    builder = RunBuilder(seed=seed, family=[series(**fields)], plan={"family_size": 40})
    for number in range(blocks):
        builder.block(
            number,
            {
                "base": [rng.gauss(1, 0.005) for _ in "ab"],
                "head": [rng.gauss(1 + change, 0.005) for _ in "ab"],
            },
        )
    return builder.run().model_copy(update={"id": name})


def second(change: float, **fields: Any) -> Run:
    return measured(change, "r2", seed=21, **fields)


def only(run: Run, config: GateConfig, other: Run | None = None) -> SeriesVerdict:
    (found,) = decide(run, config, other).series
    return found


def test_a_regression_waits_for_its_confirmation() -> None:
    verdict = decide(measured(0.06), CONFIRM)
    (found,) = verdict.series
    assert found.outcome == "inconclusive"
    assert found.reason.startswith("needs confirmation: decode/b1 step_time is ")
    assert (verdict.outcome, conclusion(verdict)) == ("inconclusive", "neutral")


def test_without_a_regression_there_is_nothing_to_confirm() -> None:
    assert only(measured(0.0), CONFIRM).outcome == "unchanged"
    assert only(measured(0.0), CONFIRM, second(0.0)).outcome == "unchanged"


def test_two_runs_that_agree_block_and_their_evidence_multiplies() -> None:
    first, other = measured(0.06), second(0.06)
    alone = only(first, GateConfig()).evidence
    verdict = decide(first, CONFIRM, other)
    (found,) = verdict.series
    assert verdict.outcome == "fail"
    assert found.outcome == "regressed"
    assert "confirmed: the second run saw +" in found.reason
    assert found.confirmation is not None
    assert alone is not None
    assert found.confirmation.evidence_together == pytest.approx(
        alone + found.confirmation.evidence
    )
    assert found.confirmation.ratio == pytest.approx(1.06, abs=0.01)


def test_two_runs_that_prove_nothing_alone_may_prove_it_together() -> None:
    first, other = (
        measured(0.06, blocks=4),
        second(0.06, blocks=4),
    )  # a family of 40 takes ten launches a side
    assert only(first, GateConfig()).outcome == "inconclusive"
    found = only(first, GateConfig(), other)
    assert found.outcome == "regressed"
    assert found.confirmation is not None
    assert found.confirmation.evidence_together >= log(40 / 0.01)


@pytest.mark.parametrize("change", [0.0, 0.02, -0.06])
def test_a_second_run_that_sees_less_than_the_threshold_does_not_confirm(change: float) -> None:
    found = only(measured(0.06), CONFIRM, second(change))
    assert found.outcome == "inconclusive"
    assert found.reason.startswith("not confirmed: the second run saw ")
    assert "the first run: decode/b1 step_time is" in found.reason


def test_the_larger_family_of_the_two_counts() -> None:
    first, other = measured(0.06, blocks=4), second(0.06, blocks=4)
    plan = other.plan.model_copy(update={"family_size": 10**9})
    found = only(first, GateConfig(), other.model_copy(update={"plan": plan}))
    assert found.outcome == "inconclusive"


def test_runs_on_two_machines_confirm_each_other() -> None:
    other = second(0.06)
    elsewhere = MACHINE.model_copy(update={"cpu_model": "Xeon 8480C"})
    arms = {
        side: other.arm(side).model_copy(update={"environment": elsewhere})
        for side in ("base", "head")
    }
    assert only(measured(0.06), CONFIRM, other.model_copy(update=arms)).outcome == "regressed"


def test_a_second_run_on_two_machines_at_once_confirms_nothing() -> None:
    other = second(0.06)
    elsewhere = MACHINE.model_copy(update={"cpu_model": "Xeon 8480C"})
    head = other.head.model_copy(update={"environment": elsewhere})
    found = only(measured(0.06), CONFIRM, other.model_copy(update={"head": head}))
    assert found.outcome == "inconclusive"
    assert "cannot be compared" in found.reason


def test_a_void_second_run_confirms_nothing() -> None:
    hot = Telemetry(accelerator=0, throttle_reasons=("hw_slowdown",))
    builder = RunBuilder(seed=21)
    for attempt in range(3):
        builder.block(
            0,
            {"base": [1.0] * 2, "head": [1.1] * 2},
            attempt=attempt,
            telemetry={"base": [hot, None], "head": [None, None]},
        )
    found = only(measured(0.06), CONFIRM, builder.run().model_copy(update={"id": "r2"}))
    assert found.outcome == "inconclusive"
    assert "blocks were discarded" in found.reason


def test_a_series_that_the_second_run_lacks_is_not_confirmed() -> None:
    found = only(measured(0.06), CONFIRM, unlike(plan={"family": ()}, launches=()))
    assert found.reason.startswith("not confirmed: the second run did not plan it")


def test_problems_of_the_second_run_are_told_as_its_own() -> None:
    other = second(0.06).model_copy(update={"complete": False, "stopped_because": "killed"})
    verdict = decide(measured(0.06), CONFIRM, other)
    assert "second run: the run is not complete: killed" in verdict.problems


def unlike(**changes: Any) -> Run:
    run = second(0.06)
    plan = run.plan.model_copy(update=changes.pop("plan", {}))
    return run.model_copy(update={"plan": plan, **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "r1"}, "a run cannot confirm itself"),
        ({"plan": {"seed": 20}}, "the same launch order"),
        ({"plan": {"order": "apart"}}, "measured apart"),
        ({"plan": {"family": (series(unit="ms"),)}}, "is in s .* and in ms"),
        ({"plan": {"family": (series(), series("decode/b1@h100"))}}, "did not plan decode/b1@h100"),
        ({"plan": {"gone": (series("prefill"),)}}, "did not plan prefill"),
        (
            {"head": second(0).head.model_copy(update={"revision": second(0).base.revision})},
            "another head",
        ),
    ],
)
def test_a_run_that_cannot_confirm_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        decide(measured(0.06), CONFIRM, unlike(**changes))


def counted(head: int, name: str, seed: int) -> Run:
    builder = RunBuilder(seed=seed, family=[series(metric="spills", unit="count")])
    for number in range(4):
        builder.block(number, {"base": [0, 0], "head": [head, head]})
    return builder.run().model_copy(update={"id": name})


@pytest.mark.parametrize(
    ("again", "outcome", "said"),
    [(3, "regressed", "confirmed by a second run"), (0, "inconclusive", "not confirmed: ")],
)
def test_a_count_from_zero_is_confirmed_by_the_same_count(
    again: int, outcome: str, said: str
) -> None:
    found = only(counted(3, "r1", 20), CONFIRM, counted(again, "r2", 21))
    assert found.outcome == outcome
    assert said in found.reason


def test_a_second_run_without_a_whole_block_confirms_nothing() -> None:
    run = measured(0.06, "r2", seed=21, blocks=1)
    other = run.model_copy(update={"launches": run.launches[:3], "complete": False})
    found = only(measured(0.06), CONFIRM, other)
    assert found.outcome == "inconclusive"
    assert "nothing to set beside it" in found.reason
