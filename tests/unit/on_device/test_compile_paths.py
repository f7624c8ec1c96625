"""Compile paths of which a part fails, or hangs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ciwm.opmap.compile_paths import workload_compile
from ciwm.opmap.observe import Observed
from ciwm.report.map_device_words import compile_words
from ciwm.worker.opmap import compile_paths, inductor

if TYPE_CHECKING:
    import pytest


def test_a_step_of_which_one_graph_is_not_lowered_has_failed_and_says_what_was_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half = inductor.Lowered()
    half.graphs, half.generated, half.failed = 2, 3, ["MissingOperator: house::twice"]
    monkeypatch.setattr(inductor, "has_codegen", lambda _device: True)
    monkeypatch.setattr(inductor, "lowered", lambda _step: half)
    monkeypatch.setattr(compile_paths, "to_device", lambda built, _device: built)
    case: Any = compile_paths._Case(built=None, phase="train", device="cpu")  # type: ignore[arg-type]
    found = workload_compile("train", Observed(lines=(compile_paths._inductor(case),)))
    assert found is not None
    assert found.inductor is not None
    assert found.inductor.status == "failed"
    (line,) = compile_words(found)
    assert line == (
        "train: Inductor: 3 generated, 0 extern, 0 fallback; not lowered: "
        "1 of 2 graphs: MissingOperator: house::twice"
    )


def test_two_paths_that_hang_leave_time_for_those_behind_them() -> None:
    limits = compile_paths._limits({"options": {}, "timeout_s": 300})
    assert (limits.children, limits.tasks_per_child) == (2, 1)
    assert 2 * limits.timeout_s < 300
