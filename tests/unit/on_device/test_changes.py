"""What the diff says of fallbacks, verdicts, collectives and compile paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ciwm.config_map import FallbackBudget
from ciwm.opmap.communication import communication_changes
from ciwm.opmap.compile_paths import compile_changes
from ciwm.opmap.correctness import correctness_changes
from ciwm.opmap.diff import map_diff
from ciwm.opmap.fallback import fallback_changes, over_budget
from ciwm.records.opmap_communication import (
    CollectiveCell,
    CollectiveNeed,
    CollectiveProbe,
    Communication,
    StrategyNeeds,
)
from ciwm.records.opmap_compile import (
    GraphBreak,
    Graphs,
    ImporterPath,
    InductorNodes,
    WorkloadCompile,
)
from ciwm.records.opmap_correctness import (
    Correctness,
    ModelCheck,
    OperatorCheck,
    Sweep,
    WorkloadCorrectness,
)
from ciwm.records.opmap_fallback import FallbackOp, HiddenCopy, WorkloadFallbacks
from ciwm.report.map_markdown import diff_section
from tests.map_examples import workload_map

if TYPE_CHECKING:
    from ciwm.records import WorkloadMap


def mapped(**parts: Any) -> WorkloadMap:
    """A map of which only these parts matter; all else is the same on both sides."""
    return workload_map(**parts)


def fell(*ops: tuple[str, float], device: str = "toy") -> WorkloadFallbacks:
    return WorkloadFallbacks(
        workload="train",
        device=device,
        steps=3,
        step_s=0.1,
        calls=len(ops),
        time_share_pct=sum(share for _, share in ops),
        ops=tuple(
            FallbackOp(op=op, calls=1, time_s=share / 1000, time_share_pct=share)
            for op, share in ops
        ),
    )


def test_a_new_fallback_is_a_loss_told_with_its_share_of_the_step() -> None:
    base = mapped(fallbacks=(fell(("aten::sort", 2.0)),))
    head = mapped(fallbacks=(fell(("aten::sort", 2.0), ("aten::cumsum", 31.0)),))
    (change,) = fallback_changes(base, head)
    assert change.kind == "fallback new"
    assert change.lost
    assert change.sentence == "aten::cumsum, 31 % of step time, 1 calls a step (train)"


def test_the_comment_says_how_many_and_since_which_upstream_commit() -> None:
    base = mapped(fallbacks=(fell(),))
    head = mapped(fallbacks=(fell(("aten::cumsum", 31.0)),))
    diff = map_diff(base, head, ["coverage"]).model_copy(update={"since": "upstream abc1234"})
    section = diff_section(diff)
    assert "**1 new CPU fallback, since upstream abc1234**" in section
    assert "new CPU fallback: aten::cumsum, 31 % of step time" in section
    assert "the merge is blocked by it" in section


def test_a_fallback_that_went_is_no_loss_and_another_device_is_not_compared() -> None:
    base = mapped(fallbacks=(fell(("aten::sort", 2.0)),))
    (change,) = fallback_changes(base, mapped(fallbacks=(fell(),)))
    assert (change.kind, change.lost) == ("fallback gone", False)
    elsewhere = mapped(fallbacks=(fell(("aten::cumsum", 9.0), device="xpu"),))
    assert list(fallback_changes(base, elsewhere)) == []


def test_a_budget_is_held_in_calls_and_in_time_share() -> None:
    head = mapped(fallbacks=(fell(("aten::sort", 20.0), ("aten::cumsum", 11.0)),))
    (change,) = over_budget(head, (FallbackBudget(match="train", calls=1, share_pct=30),))
    assert change.lost
    assert "2 calls a step, budget 1" in change.sentence
    assert "31 % of its step, budget 30 %" in change.sentence
    assert list(over_budget(head, (FallbackBudget(match="train", calls=2, share_pct=31),))) == []
    assert list(over_budget(head, (FallbackBudget(match="other", calls=0),))) == []


def swept(device: str = "toy", **verdicts: Any) -> Correctness:
    named = {f"{name} float32 forward": verdict for name, verdict in verdicts.items()}
    checks = tuple(
        OperatorCheck(
            operator=name,
            dtype="float32",
            direction="forward",
            verdict=verdict,
            counts={"edge": {verdict: 1}},
            detail="off by 1",
        )
        for name, verdict in verdicts.items()
        if verdict not in ("strict", "drift")
    )
    return Correctness(
        sweep=Sweep(
            device=device,
            dtypes=("float32",),
            sources=("edge",),
            samples=1,
            operators=len(named),
            known=702,
            cases={},
            verdicts=named,
            checks=checks,
        )
    )


def test_a_verdict_that_became_wrong_counts_as_correctness() -> None:
    base = mapped(correctness=swept(sum="strict", gelu="WRONG", mm="strict"))
    head = mapped(correctness=swept(sum="WRONG", gelu="drift", mm="drift"))
    changes = {change.subject: change for change in correctness_changes(base, head)}
    assert set(changes) == {"sum", "gelu"}  # from strict to drift is no news
    assert changes["sum"].kind == "correctness worse"
    assert changes["sum"].counts_as == "correctness"
    assert changes["sum"].lost
    assert "strict → WRONG" in changes["sum"].sentence
    assert "off by 1" in changes["sum"].sentence
    assert changes["gelu"].kind == "correctness better"


def test_an_operator_that_only_one_side_has_and_another_device_say_nothing() -> None:
    base = mapped(correctness=swept(sum="strict"))
    assert list(correctness_changes(base, mapped(correctness=swept(new="WRONG")))) == []
    assert list(correctness_changes(base, mapped(correctness=swept(device="x", sum="WRONG")))) == []


def test_a_model_whose_tokens_became_wrong_is_named() -> None:
    def side(verdict: Any) -> WorkloadMap:
        check = ModelCheck(what="tokens", verdict=verdict, detail="differs", compared=8)
        one = WorkloadCorrectness(workload="chat", device="toy", calls=1, model=(check,))
        return mapped(correctness=Correctness(workloads=(one,)))

    (change,) = correctness_changes(side("strict"), side("WRONG"))
    assert change.lost
    assert change.sentence == "chat: tokens strict → WRONG on toy: differs"


def talked(status: Any, *primitives: str) -> Communication:
    cell = CollectiveCell(primitive="all_gather", dtype="float32", status=status, detail="no")
    probe = CollectiveProbe(backend="gloo", device="cpu", ranks=2, cells=(cell,))
    needs = tuple(
        CollectiveNeed(primitive=primitive, dtype="float32", group=8, calls=1, bytes=4)
        for primitive in primitives
    )
    one = StrategyNeeds(workload="train", strategy="fsdp2", world=8, status="counted", needs=needs)
    return Communication(probe=probe, strategies=(one,))


def test_a_collective_newly_needed_is_told_and_one_the_backend_lost_is_a_loss() -> None:
    base = mapped(communication=talked("ok", "all_gather"))
    head = mapped(communication=talked("gap", "all_gather", "all_to_all"))
    changes = list(communication_changes(base, head))
    assert [change.lost for change in changes] == [False, True]
    assert "newly needs all_to_all in float32" in changes[0].sentence
    assert changes[1].sentence == "gloo all_gather in float32: ok → gap (no)"


def compiled(
    *breaks: GraphBreak, status: Any = "done", importer: ImporterPath | None = None
) -> WorkloadMap:
    one = WorkloadCompile(
        workload="train",
        graphs=Graphs(status="done", graphs=1, breaks=breaks),
        inductor=InductorNodes(status=status, detail="no lowering"),
        importers=(importer,) if importer else (),
    )
    return mapped(compile_paths=(one,))


def test_a_new_graph_break_is_a_loss_and_one_that_only_moved_a_line_is_not() -> None:
    old = GraphBreak(reason="print", where="m.py:10 in forward", count=1)
    moved = GraphBreak(reason="print", where="m.py:12 in forward", count=1)
    new = GraphBreak(reason="item", where="m.py:20 in route", count=1)
    (change,) = compile_changes(compiled(old), compiled(moved, new))
    assert change.kind == "graph break new"
    assert change.lost
    assert "m.py:20 in route: item" in change.sentence


def test_a_path_that_fails_now_is_a_loss() -> None:
    (change,) = compile_changes(compiled(), compiled(status="failed"))
    assert change.sentence == "train: Inductor fails: no lowering"
    assert change.lost


def test_a_stack_that_is_not_installed_on_one_side_says_nothing() -> None:
    absent = ImporterPath(stack="TVM", status="not installed")
    there = ImporterPath(stack="TVM", status="imported")
    lacks = ImporterPath(stack="TVM", status="unsupported", unsupported=("aten.histc.default",))
    assert list(compile_changes(compiled(importer=there), compiled(importer=absent))) == []
    assert list(compile_changes(compiled(importer=absent), compiled(importer=lacks))) == []
    (change,) = compile_changes(compiled(importer=there), compiled(importer=lacks))
    assert change.sentence == "train: TVM newly lacks aten.histc.default"


def test_a_break_that_is_there_more_often_is_a_loss() -> None:
    once = GraphBreak(reason="print", where="m.py:10 in forward", count=1)
    again = GraphBreak(reason="print", where="m.py:14 in forward", count=1)
    (change,) = compile_changes(compiled(once), compiled(once, again))
    assert (change.kind, change.lost) == ("graph break new", True)
    assert "2 times instead of 1: print" in change.sentence
    (change,) = compile_changes(compiled(once, again), compiled(again))
    assert (change.kind, change.lost) == ("graph break gone", False)


def test_what_inductor_newly_leaves_to_eager_kernels_is_told_and_no_loss() -> None:
    def side(*left: str) -> WorkloadMap:
        nodes = InductorNodes(status="done", device="cpu", fallback=dict.fromkeys(left, 1))
        return mapped(compile_paths=(WorkloadCompile(workload="train", inductor=nodes),))

    (change,) = compile_changes(side(), side("aten.cumsum.default"))
    assert not change.lost
    assert change.sentence == ("train: Inductor newly leaves to eager kernels: aten.cumsum.default")


def test_a_stack_that_no_longer_imports_is_a_loss_and_one_that_failed_before_lost_nothing() -> None:
    there = ImporterPath(stack="TVM", status="imported")
    broken = ImporterPath(stack="TVM", status="broken", detail="no prod.dim_Dimname")
    failed = ImporterPath(stack="TVM", status="failed", detail="crash")
    lacks = ImporterPath(stack="TVM", status="unsupported", unsupported=("aten.histc.default",))
    (change,) = compile_changes(compiled(importer=there), compiled(importer=broken))
    assert change.lost
    assert "no prod.dim_Dimname" in change.sentence
    assert list(compile_changes(compiled(importer=failed), compiled(importer=lacks))) == []


def set_up(status: Any, detail: str = "") -> WorkloadMap:
    one = StrategyNeeds(workload="train", strategy="tp", world=8, status=status, detail=detail)
    return mapped(communication=Communication(strategies=(one,)))


def test_a_strategy_that_can_no_longer_be_set_up_is_a_loss() -> None:
    (change,) = communication_changes(set_up("counted"), set_up("failed", "no plan fits"))
    assert (change.kind, change.lost) == ("collective gone", True)
    assert change.sentence == "tp of train in 8 ranks can no longer be set up: no plan fits"
    (change,) = communication_changes(set_up("failed"), set_up("counted"))
    assert not change.lost
    (change,) = communication_changes(set_up("counted"), set_up("not applicable", "no plan"))
    assert not change.lost
    assert list(communication_changes(set_up("counted"), set_up("estimated"))) == []


def called(*failing: str, verdict: Any = "WRONG") -> WorkloadMap:
    checks = tuple(
        OperatorCheck(
            operator=operator,
            dtype="float32",
            direction="forward",
            verdict=verdict,
            counts={"workload": {verdict: 1}},
            detail="off by 1",
        )
        for operator in failing
    )
    one = WorkloadCorrectness(workload="train", device="toy", calls=9, checks=checks)
    return mapped(correctness=Correctness(workloads=(one,)))


def test_a_workloads_own_call_that_became_wrong_is_a_loss() -> None:
    (change,) = correctness_changes(called(), called("aten.gelu_backward.default"))
    assert (change.lost, change.counts_as) == (True, "correctness")
    assert change.sentence == (
        "train: a call of aten.gelu_backward.default is WRONG on toy: off by 1"
    )
    (change,) = correctness_changes(called("aten.mm.default"), called())
    assert not change.lost
    untestable = called("aten.dropout.default", verdict="untestable")
    assert list(correctness_changes(called(), untestable)) == []


def died(operator: str) -> WorkloadMap:
    """An operator that took its process down before its first call: nobody knows the dtype."""
    found = swept()
    assert found.sweep is not None
    verdicts: Any = {f"{operator}  forward": "crash"}
    return mapped(
        correctness=Correctness(sweep=found.sweep.model_copy(update={"verdicts": verdicts}))
    )


def test_an_operator_that_dies_before_its_first_call_was_right_and_is_so_no_longer() -> None:
    (change,) = correctness_changes(mapped(correctness=swept(sum="strict")), died("sum"))
    assert (change.subject, change.lost) == ("sum", True)
    assert "strict → crash" in change.sentence
    assert list(correctness_changes(mapped(correctness=swept(mm="strict")), died("sum"))) == []


def test_what_can_no_longer_be_checked_is_told_and_is_not_right_again() -> None:
    base = mapped(correctness=swept(sum="strict", mm="WRONG"))
    head = mapped(correctness=swept(sum="untestable", mm="untestable"))
    changes = list(correctness_changes(base, head))
    assert {change.subject for change in changes} == {"sum", "mm"}
    assert not any(change.lost for change in changes)
    assert all("can no longer be checked on toy" in change.sentence for change in changes)


def test_another_overload_that_falls_back_is_a_new_fallback() -> None:
    def side(**overloads: int) -> WorkloadMap:
        (op,) = fell(("aten::sum", 20.0)).ops
        named = {f"aten::sum.{name}": count for name, count in overloads.items()}
        one = op.model_copy(update={"overloads": named})
        return mapped(fallbacks=(fell().model_copy(update={"ops": (one,)}),))

    (change,) = fallback_changes(side(IntList_out=1), side(IntList_out=1, dim_out=2))
    assert (change.subject, change.lost) == ("aten::sum.dim_out", True)
    assert change.sentence.startswith(
        "aten::sum.dim_out, 2 calls a step; all of aten::sum take 20 %"
    )
    assert list(fallback_changes(side(), side(dim_out=2))) == []  # base was not traced


def test_a_newly_suspected_copy_is_told_and_proves_no_loss() -> None:
    copy = HiddenCopy(op="aten::sigmoid.out", what="copy", calls=2)
    head = mapped(fallbacks=(fell().model_copy(update={"hidden": (copy,)}),))
    (change,) = fallback_changes(mapped(fallbacks=(fell(),)), head)
    assert not change.lost
    assert "suspected: 2 copies to the host a step below it (train)" in change.sentence
    assert list(fallback_changes(head, head)) == []
