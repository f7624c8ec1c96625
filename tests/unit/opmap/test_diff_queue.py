"""What a comment says of the kernel queue: nothing, unless it changed; and it never blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.opmap.diff import map_diff
from ciwm.records.opmap import Proof, QueuedKernel, QueueEntry
from ciwm.report.map_markdown import diff_section
from tests.map_examples import workload_map

if TYPE_CHECKING:
    from ciwm.records import WorkloadMap
    from ciwm.records.opmap_diff import MapDiff


def queue(*found: tuple[str, str], passes: bool | None = None) -> WorkloadMap:
    """Steps of (kernels, workload); with or without strict runs."""
    entries = []
    for number, (kernels, workload) in enumerate(found, 1):
        each = kernels.split()
        proof = Proof(workload=workload, kernels=len(each), passes=bool(passes), detail="no mm")
        entries.append(
            QueueEntry(
                order=number,
                kernels=tuple(QueuedKernel(op=op, calls=1) for op in each),
                unlocks=(workload,),
                total_kernels=len(each),
                proofs=() if passes is None else (proof,),
            )
        )
    return workload_map(queue=tuple(entries))


def told(base: WorkloadMap, head: WorkloadMap) -> tuple[MapDiff, list[str]]:
    diff = map_diff(base, head, ["coverage", "correctness"])
    assert not diff.blocks
    assert not any(change.lost for change in diff.changes)
    return diff, [change.sentence for change in diff.changes if change.kind == "queue"]


def test_an_unchanged_queue_is_not_told() -> None:
    same = queue(("mm", "a"), ("erf", "b"))
    diff, sentences = told(same, same)
    assert sentences == []
    assert "kernels to write" not in diff_section(diff)


def test_kernels_that_came_and_went_are_named_in_the_open() -> None:
    diff, sentences = told(queue(("mm", "a"), ("", "b")), queue(("", "b"), ("erf tanh", "a")))
    (sentence,) = sentences
    assert sentence == (
        "kernels to write: 1 in 1 step → 2 in 1 step; new erf, tanh; no longer mm; "
        "first erf, tanh, which unlocks a"
    )
    section = diff_section(diff)
    assert "no longer mm" in section.partition("<details>")[0]


def test_a_queue_that_came_to_its_end_says_so() -> None:
    _, (sentence,) = told(queue(("mm", "a")), queue(("", "a")))
    assert sentence == (
        "kernels to write: 1 in 1 step → 0 in 0 steps; no longer mm; nothing is left to write"
    )


def test_the_same_kernels_in_another_order_are_told() -> None:
    _, (sentence,) = told(queue(("mm", "a"), ("erf", "b")), queue(("erf", "b"), ("mm", "a")))
    assert sentence == (
        "kernels to write: still 2 in 2 steps; in another order: first erf, which unlocks b"
    )


def test_a_step_that_is_no_longer_proven_is_told_and_one_that_was_not_tried_is_not() -> None:
    base = queue(("mm", "a"), passes=True)
    _, (sentence,) = told(base, queue(("mm", "a"), passes=False))
    assert sentence == "kernels to write: no longer proven; a does not pass with its 1: no mm"
    assert told(base, queue(("mm", "a")))[1] == []


def test_a_workload_that_was_not_observed_leaves_the_queue_unsaid() -> None:
    assert told(queue(("mm", "a"), ("erf", "b")), queue(("mm", "a")))[1] == []


def test_a_side_without_a_queue_is_not_compared() -> None:
    without = queue().model_copy(update={"stages": ("census", "ghost")})
    assert told(queue(("mm", "a")), without)[1] == []


def test_a_workload_more_that_lacks_nothing_is_not_another_order() -> None:
    assert told(queue(("", "a")), queue(("", "a"), ("", "b")))[1] == []
    assert told(queue(("mm", "a")), queue(("mm", "a"), ("", "b")))[1] == []
