"""How a story ends whose maps could not be compared: neutral, unless a void one is told to fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.config import GateConfig
from ciwm.errors import NO, OK, VOID
from ciwm.report.bump_answer import next_steps
from ciwm.story.ending import conclusion_of, exit_code_of
from tests import records_examples as examples
from tests.map_examples import map_change, map_diff

if TYPE_CHECKING:
    from ciwm.records.opmap_diff import MapDiff

NO_LOSS = map_change(lost=False, blocks=False)
VOIDED = map_diff(NO_LOSS, void="base was mapped for npu, head for xpu")


@pytest.mark.parametrize(
    ("gate", "diff", "code", "says"),
    [
        (GateConfig(), VOIDED, OK, "neutral"),
        (GateConfig(on_void="fail"), VOIDED, VOID, "neutral"),
        (GateConfig(on_void="fail"), map_diff(void=VOIDED.void), NO, "failure"),
    ],
)
def test_a_void_map_is_no_pass_and_hides_no_loss(
    gate: GateConfig, diff: MapDiff, code: int, says: str
) -> None:
    ended = exit_code_of((), (), None, gate, diff, over_budget=False, interrupted=False)
    assert ended == code
    assert conclusion_of(None, ended, diff) == says


def test_a_void_map_says_what_to_do() -> None:
    (step,) = next_steps(examples.bump(verdict=examples.verdict("unchanged"), map_diff=VOIDED))
    assert "one target" in step
