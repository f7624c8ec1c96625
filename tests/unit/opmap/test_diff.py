"""What changed between two maps, what of it is a loss, and what blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ciwm.config_map import FallbackBudget
from ciwm.opmap.diff import map_diff
from ciwm.opmap.taxonomy import NO_DEVICE
from ciwm.opmap.totals import totals
from ciwm.policy.map_gate import judged_map
from ciwm.records.opmap import ClassCount, MapProblem, Memory, QueuedKernel, QueueEntry
from ciwm.records.opmap_communication import Communication, StrategyNeeds
from ciwm.records.opmap_compile import Graphs, ImporterPath, InductorNodes, WorkloadCompile
from ciwm.records.opmap_fallback import WorkloadFallbacks
from ciwm.report.map_markdown import diff_section
from ciwm.report.map_words import changed_totals, totals_lines
from tests import map_examples as examples

if TYPE_CHECKING:
    from ciwm.gate_config import BlockOn
    from ciwm.records import WorkloadMap
    from ciwm.records.opmap import MapStage, SupportClass
    from ciwm.records.opmap_diff import MapChange, MapDiff

ALL: tuple[BlockOn, ...] = ("coverage", "correctness")


def healthy(**changes: Any) -> Any:
    """A map in which everything is native."""
    fields: dict[str, Any] = {
        "workloads": (examples.mapped(),),
        "ops": (examples.use("aten::mm.out"), examples.use("aten::cumsum.out")),
        "supports": (examples.support("aten::mm.out"), examples.support("aten::cumsum.out")),
        "coverage": (),
        "queue": (),
        "problems": (),
    }
    return examples.workload_map(**{**fields, **changes})


def only(diff: MapDiff) -> MapChange:
    (change,) = diff.changes
    return change


def test_equal_maps_have_no_changes() -> None:
    diff = map_diff(healthy(), healthy(), ALL)
    assert diff.changes == ()
    assert not diff.blocks


def test_a_map_that_nothing_was_captured_for_is_not_told_to_differ_in_how_it_was_seen() -> None:
    base = healthy()
    swept = healthy()
    swept = swept.model_copy(
        update={"provenance": swept.provenance.model_copy(update={"capture": ""})}
    )
    other = swept.provenance.model_copy(update={"capture": "a device in Python"})
    seen_otherwise = swept.model_copy(update={"provenance": other})

    assert map_diff(base, swept, ALL).warnings == ()
    assert map_diff(base, seen_otherwise, ALL).warnings == (
        f"base was seen by the {base.provenance.capture}, head by the a device in Python",
    )


def test_a_fold_holds_more_changes_only_below_others_in_the_open() -> None:
    one_less = healthy(ops=healthy().ops[:1], supports=healthy().supports[:1])
    assert "<summary>1 change</summary>" in diff_section(map_diff(one_less, healthy(), ALL))
    fallen = examples.support("aten::mm.out", "fallback", evidence="its row is a fallback")
    worse = healthy(supports=(fallen, healthy().supports[1]))
    assert "<summary>1 more change</summary>" in diff_section(map_diff(one_less, worse, ALL))


def test_an_operator_that_fell_back_is_a_new_fallback_and_blocks() -> None:
    fallen = examples.support("aten::cumsum.out", "fallback", evidence="its row is a fallback")
    head = healthy(supports=(examples.support("aten::mm.out"), fallen))
    diff = map_diff(healthy(), head, ALL)
    change = only(diff)
    assert (change.kind, change.lost, change.blocks) == ("fallback new", True, True)
    assert change.sentence.startswith("aten::cumsum.out")
    assert diff.reason == change.sentence


def test_the_way_back_is_no_loss() -> None:
    fallen = examples.support("aten::cumsum.out", "fallback")
    base = healthy(supports=(examples.support("aten::mm.out"), fallen))
    diff = map_diff(base, healthy(), ALL)
    assert (only(diff).kind, only(diff).lost) == ("fallback gone", False)


def test_a_kernel_more_is_no_loss_where_the_target_has_it() -> None:
    head = healthy(
        ops=(*healthy().ops, examples.use("aten::tril.out", count=3)),
        supports=(*healthy().supports, examples.support("aten::tril.out")),
    )
    change = only(map_diff(healthy(), head, ALL))
    assert (change.kind, change.lost) == ("kernel needed", False)
    assert "3 calls" in change.sentence


def test_a_kernel_more_that_the_target_has_another_name_for_says_so() -> None:
    cumsum = examples.support("aten::cumsum.out", workloads=(examples.mapped().id,))
    head = healthy(
        ops=(*healthy().ops, examples.use("aten::tril.out")),
        supports=(examples.support("aten::mm.out"), cumsum),
    )
    change = only(map_diff(healthy(), head, ALL))
    assert change.sentence.endswith(f"; {cumsum.target} is not asked for it by this name")
    assert not change.lost


def test_a_kernel_more_that_nothing_serves_is_a_loss() -> None:
    head = healthy(
        ops=(*healthy().ops, examples.use("aten::tril.out")),
        supports=(*healthy().supports, examples.support("aten::tril.out", "must-write")),
    )
    assert only(map_diff(healthy(), head, ALL)).blocks


def asked(support: SupportClass, *ops: str, workload: str = "decode") -> ClassCount:
    return ClassCount(workload=workload, support=support, ops=ops, calls=len(ops))


@pytest.mark.parametrize("stages", [("ghost",), ("census", "ghost")])
def test_what_only_the_target_is_newly_asked_for_and_lacks_is_a_loss(
    stages: tuple[MapStage, ...],
) -> None:
    before = asked("native", "aten::mm.out")
    base = healthy(stages=stages, coverage=(before,))
    head = healthy(
        stages=stages,
        supports=(*healthy().supports, examples.support("aten::erfinv.out", "must-write")),
        coverage=(before, asked("must-write", "aten::erfinv.out")),
    )
    change = only(map_diff(base, head, ALL))
    assert (change.kind, change.workloads, change.blocks) == ("kernel needed", ("decode",), True)
    assert "must-write on npu" in change.sentence


def test_what_a_new_workload_asks_for_is_no_loss() -> None:
    before = asked("native", "aten::mm.out")
    linear = examples.support("aten::linear", "composite-reuse", calls=0)
    base = healthy(supports=(*healthy().supports, linear), coverage=(before,))
    head = healthy(
        workloads=(*healthy().workloads, examples.mapped("new")),
        supports=(
            *healthy().supports,
            linear.model_copy(update={"support": "must-write"}),  # as of the new workload's leaf
            examples.support("aten::erfinv.out", "must-write"),
        ),
        coverage=(before, asked("must-write", "aten::erfinv.out", workload="new")),
    )
    diff = map_diff(base, head, ALL)
    assert {change.kind for change in diff.changes} == {"workload new", "class worse"}
    assert not diff.blocks


def test_a_workload_that_can_no_longer_be_observed_is_lost_with_the_reason() -> None:
    problem = MapProblem(stage="census", workload="decode", reason="signal", detail="SIGSEGV")
    diff = map_diff(healthy(), healthy(ops=(), problems=(problem,)), ALL)
    change = only(diff)
    assert (change.kind, change.blocks) == ("workload lost", True)
    assert "SIGSEGV" in change.sentence


def test_kernels_of_a_workload_that_did_not_run_are_not_said_to_be_gone() -> None:
    problem = MapProblem(stage="census", workload="decode", reason="oom", detail="no memory")
    diff = map_diff(healthy(), healthy(ops=(), problems=(problem,)), ALL)
    assert {change.kind for change in diff.changes} == {"workload lost"}


def test_a_workload_that_is_not_in_heads_map_is_lost() -> None:
    diff = map_diff(healthy(), healthy(workloads=(), ops=()), ALL)
    assert only(diff).kind == "workload lost"


def test_what_the_gate_does_not_block_on_is_a_loss_all_the_same() -> None:
    head = healthy(
        supports=(
            examples.support("aten::mm.out"),
            examples.support("aten::cumsum.out", "must-write"),
        )
    )
    diff = map_diff(healthy(), head, ("regression",))
    assert (only(diff).lost, only(diff).blocks, diff.blocks) == (True, False, False)


def test_maps_of_different_targets_are_not_compared_class_by_class() -> None:
    other = tuple(
        one.model_copy(update={"target": "xpu", "support": "must-write"})
        for one in healthy().supports
    )
    head = healthy(provenance=examples.provenance(target="xpu"), supports=other)
    diff = map_diff(healthy(), head, ALL)
    assert diff.changes == ()
    assert diff.void.startswith("base was mapped for npu, head for xpu: ")
    assert not diff.blocks


def test_a_map_without_a_target_has_no_queue_to_compare_with_that_of_one() -> None:
    kernels = tuple(QueuedKernel(op=f"aten::op{number}", calls=1) for number in range(22))
    everything = QueueEntry(order=1, kernels=kernels, unlocks=("decode",), total_kernels=22)
    base = examples.workload_map(
        provenance=examples.provenance(target=None), supports=(), coverage=(), queue=(everything,)
    )
    diff = map_diff(base, examples.workload_map(), ALL)
    assert diff.changes == ()
    assert diff.void.startswith("base was mapped for no target, head for npu: ")
    assert changed_totals(diff) == "workloads observed 1, kernels needed 2"
    section = diff_section(diff)
    assert section.splitlines()[2].startswith("**Void**: base was mapped for no target")
    assert "Nothing changed" not in section


def test_what_fails_on_heads_target_alone_is_no_workload_lost_in_a_bump() -> None:
    failed = MapProblem(stage="ghost", workload="decode", reason="failed", detail="no data")
    elsewhere = healthy(problems=(failed,), provenance=examples.provenance(target="xpu"))
    assert map_diff(healthy(), elsewhere, ALL).changes == ()
    assert only(map_diff(healthy(), healthy(problems=(failed,)), ALL)).kind == "workload lost"


def test_a_device_that_one_side_alone_declares_changes_no_workload() -> None:
    undeclared = examples.mapped(
        intensity=examples.intensity(bound="undetermined", reason=NO_DEVICE),
        memory=Memory(params_bytes=13e9, needed_bytes=14e9),
    )
    assert map_diff(healthy(workloads=(undeclared,)), healthy(), ALL).changes == ()
    faster = examples.mapped(intensity=examples.intensity(bound="compute-bound"))
    (change,) = map_diff(healthy(), healthy(workloads=(faster,)), ALL).changes
    assert change.sentence == "decode was memory-bound, is compute-bound"


def test_what_no_target_has_a_part_in_blocks_though_the_targets_differ() -> None:
    elsewhere = healthy(workloads=(), ops=(), provenance=examples.provenance(target="xpu"))
    diff = map_diff(healthy(), elsewhere, ALL)
    assert (only(diff).kind, diff.blocks, bool(diff.void)) == ("workload lost", True, True)


@pytest.mark.parametrize(("budget", "blocks"), [(4, False), (3, True)])
def test_calls_on_the_cpu_beyond_the_budget_block(budget: int, blocks: bool) -> None:  # noqa: FBT001
    counted = ClassCount(workload="decode", support="fallback", ops=("aten::cumsum.out",), calls=4)
    both = healthy(coverage=(counted,))
    diff = map_diff(both, both, ALL, (FallbackBudget(match="dec*", calls=budget),))
    assert diff.blocks == blocks


def test_the_first_budget_that_matches_counts_alone() -> None:
    counted = ClassCount(workload="decode", support="fallback", ops=("aten::cumsum.out",), calls=4)
    both = healthy(coverage=(counted,))
    budgets = (FallbackBudget(match="decode"), FallbackBudget(match="*", calls=0))
    assert not map_diff(both, both, ALL, budgets).blocks


def test_a_report_from_elsewhere_is_judged_anew() -> None:
    claimed = examples.map_diff(examples.map_change(blocks=False))
    assert not claimed.blocks
    assert judged_map(claimed, ("coverage",)).blocks
    assert not judged_map(examples.map_diff(), ("regression",)).blocks


def test_totals_count_kernels_once_and_leave_structural_ones_out() -> None:
    found = totals(examples.workload_map())
    assert (found.kernels, found.structural, found.calls) == (2, 1, 13)
    assert (found.observed, found.workloads, found.problems) == (1, 2, 1)
    assert found.classes == {"native": 1, "fallback": 1}
    assert found.composites == {"composite-reuse": 1}
    assert totals_lines(found, "npu") == [
        "workloads: 1 of 2 observed, 1 problem",
        "needed: 2 distinct kernels (13 calls) beside 1 structural; workloads share them",
        "npu is asked, by its own names, for 2 = 1 native + 1 fallback",
        "composites made of those: 1 = 1 composite-reuse",
        "to write: 1 kernel",
    ]


def test_a_workload_that_cannot_be_mapped_at_all_is_among_those_declared() -> None:
    command = MapProblem(stage="census", workload="serve", reason="invalid", detail="a command")
    some = examples.workload_map(problems=(command,))
    found = totals(some)
    assert (found.observed, found.workloads) == (1, 3)  # nothing was seen of train
    many = command.model_copy(update={"workload": "decode"})
    assert totals(examples.workload_map(problems=(many,))).workloads == 2


def test_a_workload_that_only_the_queues_census_saw_is_lost_like_any_other() -> None:
    problem = MapProblem(stage="census", workload="decode", reason="failed", detail="no module")
    base = healthy(stages=("queue",))
    change = only(map_diff(base, healthy(stages=("queue",), ops=(), problems=(problem,)), ALL))
    assert (change.kind, change.blocks) == ("workload lost", True)


@pytest.mark.parametrize(
    ("stage", "counts_as"), [("correctness", "correctness"), ("communication", "coverage")]
)
def test_a_sweep_or_a_probe_that_can_no_longer_be_done_is_a_loss(
    stage: MapStage, counts_as: BlockOn
) -> None:
    problem = MapProblem(stage=stage, workload="", reason="failed", detail="sweep: no expecttest")
    base, head = healthy(stages=(stage,)), healthy(stages=(stage,), problems=(problem,))
    change = only(map_diff(base, head, (counts_as,)))
    assert (change.kind, change.subject, change.blocks) == ("workload lost", stage, True)
    assert "no expecttest" in change.sentence
    assert change.workloads == ()
    assert only(map_diff(head, base, ALL)).kind == "workload observed again"


def profiled_on(device: str) -> WorkloadMap:
    one = WorkloadFallbacks(
        workload="decode", device=device, steps=3, step_s=0.1, calls=0, time_share_pct=0
    )
    found: WorkloadMap = healthy(stages=("fallback",), fallbacks=(one,))
    return found


def test_a_build_that_lost_its_device_is_no_all_clear() -> None:
    change = only(map_diff(profiled_on("cuda"), profiled_on("cpu"), ALL))
    assert (change.kind, change.blocks) == ("workload lost", True)
    assert change.sentence == (
        "fallback: base ran on cuda, head on the CPU, where none of it shows"
    )


def test_two_devices_are_not_compared_and_a_warning_says_so() -> None:
    diff = map_diff(profiled_on("cuda:0"), profiled_on("npu:0"), ALL)
    assert diff.changes == ()
    assert diff.warnings == ("fallback: base ran on cuda, head on npu; that is not compared",)
    assert map_diff(profiled_on("cuda:0"), profiled_on("cuda:1"), ALL).warnings == ()


@pytest.mark.parametrize(
    ("budget", "stages", "words"),
    [
        ({"match": "decod", "calls": 0}, ("fallback",), "decod matches no workload"),
        ({"match": "decode", "share_pct": 1}, ("ghost",), "no share of time is known"),
        ({"match": "*", "calls": 0}, ("census",), "no calls are known"),
    ],
)
def test_a_budget_that_limits_nothing_is_told(
    budget: dict[str, Any], stages: tuple[MapStage, ...], words: str
) -> None:
    both = healthy(stages=stages)
    (warning,) = map_diff(both, both, ALL, (FallbackBudget(**budget),)).warnings
    assert warning.startswith("[[map.fallback_budget]]")
    assert words in warning
    held = healthy(stages=("ghost", "fallback"))
    kept = (FallbackBudget(match="decode", calls=0, share_pct=1),)
    assert map_diff(held, held, ALL, kept).warnings == ()


def test_a_workload_that_no_compiler_and_no_strategy_could_run_was_not_observed() -> None:
    absent = ImporterPath(stack="TVM", status="not installed")
    none = StrategyNeeds(workload="decode", strategy="ddp", world=8, status="not applicable")

    def observed(status: Any) -> int:
        path = WorkloadCompile(workload="decode", graphs=Graphs(status=status), importers=(absent,))
        seen = healthy(
            workloads=(examples.mapped(intensity=None),),
            ops=(),
            compile_paths=(path,),
            communication=Communication(strategies=(none,)),
        )
        return totals(seen).observed

    assert (observed("failed"), observed("done")) == (0, 1)


def test_a_lowering_that_failed_before_it_had_a_device_moved_from_none() -> None:
    def side(device: str, status: Any) -> WorkloadMap:
        nodes = InductorNodes(status=status, device=device)
        path = WorkloadCompile(workload="decode", inductor=nodes)
        found: WorkloadMap = healthy(stages=("compile",), compile_paths=(path,))
        return found

    diff = map_diff(side("", "failed"), side("cpu", "done"), ALL)
    assert [change.lost for change in diff.changes] == [False]
    assert diff.warnings == ()
    lost = map_diff(side("cuda", "done"), side("cpu", "done"), ALL)
    assert only(lost).sentence.startswith("compile: base ran on cuda, head on the CPU")
