"""Which communication pattern a workload has, by what it declares or was seen to call."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.config import Config
from ciwm.opmap.diff import map_diff
from ciwm.opmap.pattern import pattern
from ciwm.opmap.subjects import Subject
from ciwm.opmap.totals import totals
from ciwm.records.opmap_communication import CollectiveNeed, CommunicationPattern, StrategyNeeds
from ciwm.report.map_csv import map_csv
from ciwm.report.map_markdown import map_section
from ciwm.report.map_words import pattern_words
from tests.map_examples import mapped, workload_map

if TYPE_CHECKING:
    from ciwm.records.opmap_communication import PatternClass


def need(primitive: str, calls: int = 1, each_bytes: int = 64) -> CollectiveNeed:
    reduces = primitive in ("all_reduce", "reduce_scatter")
    return CollectiveNeed(
        primitive=primitive,
        dtype="float32",
        reduce_op="sum" if reduces else "",
        group=4,
        calls=calls,
        bytes=calls * each_bytes,
        smallest_bytes=each_bytes,
        largest_bytes=each_bytes,
    )


def needs(strategy: str, *found: CollectiveNeed, **changes: Any) -> StrategyNeeds:
    fields: dict[str, Any] = {"workload": "w", "strategy": strategy, "world": 4}
    return StrategyNeeds(**{**fields, "status": "counted", "needs": found, **changes})


def subject(*parallel: str, devices: int = 4, **changes: Any) -> Subject:
    return Subject(id="w", workload="w", devices=devices, parallel=parallel, **changes)


@pytest.mark.parametrize(
    ("primitives", "classes"),
    [
        (("all_reduce",), ("all-reduce",)),
        (("all_gather", "reduce_scatter"), ("all-gather + reduce-scatter",)),
        (("all_gather",), ("all-gather",)),
        (("send", "recv"), ("pipeline send/recv",)),
        (("all_to_all", "all_reduce"), ("all-reduce", "all-to-all")),
        (("broadcast", "barrier"), ("one to many",)),
    ],
)
def test_the_class_is_of_the_collectives(
    primitives: tuple[str, ...], classes: tuple[PatternClass, ...]
) -> None:
    found = pattern(subject(), [needs("own", *map(need, primitives))])
    assert (found.status, found.source, found.classes) == ("determined", "observed", classes)


def test_what_is_declared_counts_with_calls_bytes_and_message_sizes() -> None:
    counted = [
        needs("fsdp2", need("all_gather", 5, 100), need("reduce_scatter", 3, 700)),
        needs("ddp", need("all_reduce", 9)),
        needs("fsdp2", need("all_gather", 99), world=8),
    ]
    found = pattern(subject("fsdp2"), counted)
    assert (found.source, found.ranks, found.calls, found.bytes) == ("declared", 4, 8, 2600)
    assert (found.smallest_bytes, found.largest_bytes) == (100, 700)
    assert pattern_words(found) == (
        "all-gather + reduce-scatter, declared in 4 ranks; a step: 5 all_gather in float32, "
        "500 bytes, 3 reduce_scatter sum in float32, 2,100 bytes; messages of 100 to 700 bytes"
    )


def test_two_strategies_together_are_each_counted_alone_and_that_is_said() -> None:
    found = pattern(
        subject("tp", "ddp"), [needs("tp", need("all_reduce")), needs("ddp", need("all_reduce"))]
    )
    assert found.calls == 2
    assert "together their groups are smaller" in found.reason


@pytest.mark.parametrize(
    ("of", "strategies", "status", "why"),
    [
        (subject(devices=1), [], "none", "it runs on one device"),
        (subject(), [], "undetermined", "the communication stage did not see it"),
        (subject("tp"), [needs("tp", status="failed", detail="odd")], "undetermined", "odd"),
        (
            subject("ddp"),
            [needs("ddp", status="not applicable", detail="nothing is reduced")],
            "none",
            "ddp: nothing is reduced",
        ),
        (
            subject("tp"),
            [needs("tp", status="not applicable", detail="no plan")],
            "undetermined",
            "tp: no plan",
        ),
        (subject(), [needs("own", status="failed", detail="no card")], "undetermined", "no card"),
        (subject(), [needs("own")], "undetermined", "declares no strategy for 4 devices"),
        (subject(entry="step"), [needs("own")], "none", "as one of 4 ranks"),
    ],
)
def test_where_there_is_none_or_nothing_can_tell_the_reason_says_so(
    of: Subject, strategies: list[StrategyNeeds], status: str, why: str
) -> None:
    found = pattern(of, strategies)
    assert found.status == status
    assert why in found.reason


def test_what_ended_the_stage_is_the_reason() -> None:
    assert pattern(subject(), [], "killed after its time limit").reason == (
        "killed after its time limit"
    )


def communicating(*found: CollectiveNeed, **changes: Any) -> CommunicationPattern:
    return pattern(subject(), [needs("own", *found, **changes)])


def test_a_pattern_that_changed_is_told_and_is_no_loss() -> None:
    base, head, unknown = (
        workload_map(workloads=(mapped("w", devices=4, communication=each),))
        for each in (
            communicating(need("all_reduce")),
            communicating(need("all_reduce", 2)),
            communicating(status="failed"),
        )
    )
    (change,) = map_diff(base, head, ["coverage"]).changes
    assert (change.kind, change.lost) == ("communication", False)
    assert change.sentence == (
        "w communicated by all-reduce in 4 ranks (1 call, 64 bytes a step), "
        "does by all-reduce in 4 ranks (2 calls, 128 bytes a step)"
    )
    assert map_diff(base, base, ["coverage"]).changes == ()
    assert map_diff(base, unknown, ["coverage"]).changes == ()  # not known is no change


def test_the_pattern_is_in_markdown_and_csv() -> None:
    found = communicating(need("all_reduce"))
    shown = workload_map(workloads=(mapped("decode", devices=4, communication=found),))
    assert "all-reduce, observed in 4 ranks" in map_section(shown, totals(shown))
    (first, *_) = csv.DictReader(io.StringIO(map_csv(shown)))
    assert first["communication"].startswith("all-reduce, observed in 4 ranks")


def test_a_strategy_on_one_device_is_a_mistake() -> None:
    stated = {"id": "w", "model": "a.py:build", "parallel": ["ddp"]}
    with pytest.raises(ValueError, match="parallel is ddp, on one device"):
        Config.model_validate({"map": {"workload": [stated]}})
    Config.model_validate({"map": {"workload": [{**stated, "devices": 2}]}})
