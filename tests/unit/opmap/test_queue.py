"""The order in which kernels are worth writing."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ciwm.opmap.queue import Needs, entries, steps
from ciwm.opmap.totals import totals
from ciwm.records.opmap import Blocked, Proof, QueuedKernel, QueueEntry
from ciwm.report.map_text import show_map
from ciwm.report.map_words import is_proven, step_words
from tests import map_examples as examples


def needs(missing: dict[str, set[str]], **changes: dict[str, float]) -> Needs:
    calls = {op: 1 for ops in missing.values() for op in ops}
    return Needs(
        missing={name: frozenset(ops) for name, ops in missing.items()},
        calls={**calls, **{op: int(count) for op, count in changes.get("calls", {}).items()}},
        facts={},
        time_share_pct=changes.get("time_share_pct", {}),
    )


def order(found: Needs) -> list[tuple[str, ...]]:
    return [step.unlocks for step in steps(found)]


def test_the_workload_with_the_fewest_new_kernels_comes_next() -> None:
    models = {"resnet": {"a", "b"}, "vit": {"a", "b", "c", "d"}, "bert": {"a", "c", "d", "e"}}
    found = steps(needs(models))
    assert [step.unlocks for step in found] == [("resnet",), ("vit",), ("bert",)]
    assert [set(step.kernels) for step in found] == [{"a", "b"}, {"c", "d"}, {"e"}]


def test_a_workload_that_needs_nothing_more_is_unlocked_with_the_other() -> None:
    assert order(needs({"llama": {"a", "b"}, "qwen": {"a", "b"}})) == [("llama", "qwen")]


def test_of_equally_many_kernels_those_that_unlock_more_come_first() -> None:
    models = {"one": {"a", "b"}, "two": {"c", "d"}, "three": {"c", "d"}}
    assert order(needs(models))[0] == ("three", "two")


def test_of_equally_many_kernels_those_called_more_come_first() -> None:
    assert order(needs({"one": {"a"}, "two": {"b"}}, calls={"b": 50}))[0] == ("two",)


def test_a_profiled_share_of_time_counts_more_than_any_number_of_calls() -> None:
    found = needs({"one": {"a"}, "two": {"b"}}, calls={"b": 10**6}, time_share_pct={"a": 3.0})
    assert order(found)[0] == ("one",)


def test_a_workload_that_lacks_nothing_is_a_step_without_kernels() -> None:
    assert [(step.kernels, step.unlocks) for step in steps(needs({"mlp": set()}))] == [
        ((), ("mlp",))
    ]


def test_entries_count_the_kernels_so_far() -> None:
    models = needs({"small": {"a"}, "large": {"a", "b", "c"}})
    assert [entry.total_kernels for entry in entries(steps(models), models, {})] == [1, 3]


@given(
    st.dictionaries(
        st.sampled_from("ABCDEF"), st.sets(st.sampled_from("uvwxyz")), min_size=1, max_size=6
    )
)
def test_every_workload_is_unlocked_once_and_never_before_its_kernels(
    missing: dict[str, set[str]],
) -> None:
    have: set[str] = set()
    unlocked: list[str] = []
    for step in steps(needs(missing)):
        assert not have & set(step.kernels)
        have |= set(step.kernels)
        assert step.so_far == have
        assert all(missing[name] <= have for name in step.unlocks)
        unlocked += step.unlocks
    assert sorted(unlocked) == sorted(missing)
    assert have == set().union(*missing.values())


def step_of(*proofs: Proof) -> QueueEntry:
    """Two kernels that unlock one workload."""
    kernels = tuple(QueuedKernel(op=op, calls=1) for op in ("a", "b"))
    return QueueEntry(order=1, kernels=kernels, unlocks=("mlp",), total_kernels=2, proofs=proofs)


def proof(**changes: Any) -> Proof:
    return Proof(**{"workload": "mlp", "kernels": 2, "passes": True, **changes})


def test_a_step_is_proven_when_each_of_its_kernels_was_removed_and_missed() -> None:
    assert is_proven(step_of(proof(fails_without=("a", "b"))))


@pytest.mark.parametrize(
    "weak",
    [
        proof(),  # the runs without a kernel never came to an end
        proof(fails_without=("a",)),
        proof(fails_without=("a",), passes_without=("b",)),
        proof(passes=False, detail="no kernel for c"),
        proof(workload="another", fails_without=("a", "b")),
    ],
)
def test_a_step_is_not_proven_by_less(weak: Proof) -> None:
    assert not is_proven(step_of(weak))
    assert "(proven)" not in step_words(step_of(weak))


def test_a_workload_for_which_there_is_nothing_to_write_and_that_fails_is_told() -> None:
    failing = proof(passes=False, detail="tanh served only under torch.compile")
    step = step_of(failing).model_copy(update={"kernels": ()})
    assert "only under torch.compile" in step_words(step)


def test_a_map_without_a_queue_shows_what_is_blocked_and_no_empty_table() -> None:
    blocked = Blocked(workload="decode", op="", reason="census: ValueError: a shape")
    found = examples.workload_map(queue=(), blocked=(blocked,))
    console = Console(file=StringIO(), width=200)
    show_map(found, totals(found), console)
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert "- decode: census: ValueError: a shape" in shown
    assert "Kernels to write, in order" not in shown
