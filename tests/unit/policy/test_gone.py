"""Series that head's configuration lost: missing, declared removed, or renamed."""

from __future__ import annotations

from ciwm.config import GateConfig
from ciwm.policy import decide
from tests.runs import RunBuilder, series


def lost(
    *gone: str, family: tuple[str, ...] = ("train",), added: tuple[str, ...] = ()
) -> RunBuilder:
    """A run of unchanged series, whose base declared more."""
    builder = RunBuilder(
        family=[series(name) for name in family],
        plan={"gone": tuple(series(name) for name in gone), "added": added},
    )
    for name in family:
        builder.blocks(2, 1.0, 1.0, workload=name.partition("/")[0])
    return builder


def test_a_series_that_only_base_declares_is_missing() -> None:
    verdict = decide(lost("decode/b1").run(), GateConfig())
    found = {each.series: each for each in verdict.series}
    assert verdict.outcome == "fail"
    assert found["decode/b1"].outcome == "missing"
    assert "[gate] removed of base" in found["decode/b1"].reason


def test_a_series_that_base_declares_removed_is_named_and_not_missing() -> None:
    verdict = decide(lost("decode/b1").run(), GateConfig(removed=("decode",)))
    assert verdict.outcome == "pass"
    assert any("decode/b1 step_time: absent on head" in problem for problem in verdict.problems)


def test_a_rename_is_pointed_out_and_still_missing() -> None:
    builder = lost("decode-8b", family=("train", "decode-8b-v2"), added=("decode-8b-v2",))
    verdict = decide(builder.run(), GateConfig())
    assert verdict.outcome == "fail"
    (said,) = [problem for problem in verdict.problems if "renamed" in problem]
    assert said.startswith("decode-8b step_time may have been renamed to decode-8b-v2")


def test_a_series_of_another_name_or_quantity_is_no_rename() -> None:
    builder = lost("decode-8b", family=("train", "sort"), added=("sort",))
    assert not [p for p in decide(builder.run(), GateConfig()).problems if "renamed to" in p]
    builder = lost(family=("train",))
    builder.plan["gone"] = (series("train2", metric="ttft"),)
    builder.plan["added"] = ("train",)
    assert not [p for p in decide(builder.run(), GateConfig()).problems if "renamed to" in p]
