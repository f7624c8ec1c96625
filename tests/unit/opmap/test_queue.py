"""The order in which kernels are worth writing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ciwm.opmap.queue import Needs, entries, steps


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
