"""Numbers of the collective probe by hand, and the gaps between needs and cells."""

from __future__ import annotations

from typing import Any

from ciwm.opmap.communication import communication
from ciwm.records.opmap_communication import (
    CollectiveCell,
    CollectiveNeed,
    CollectiveProbe,
    StrategyNeeds,
)
from ciwm.worker.opmap.collective_cells import mine, reduced


def test_what_ranks_bring_reduces_to_numbers_worked_out_by_hand() -> None:
    assert mine(0, "float32")[:3] == [1.0, 2.0, 3.0]
    assert mine(1, "float32")[:3] == [2.0, 3.0, 4.0]
    assert reduced("SUM", "float32", 2)[:3] == [3.0, 5.0, 7.0]
    assert reduced("AVG", "float32", 2)[:3] == [1.5, 2.5, 3.5]
    assert reduced("AVG", "int64", 2)[:3] == [1.0, 2.0, 3.0]
    assert reduced("PRODUCT", "float32", 2)[:3] == [2.0, 6.0, 12.0]
    assert reduced("MIN", "float32", 2)[:3] == [1.0, 2.0, 3.0]
    assert reduced("MAX", "bool", 2)[:3] == [1.0, 1.0, 1.0]
    assert reduced("PRODUCT", "bool", 2)[:3] == [0.0, 0.0, 0.0]


def needs(strategy: Any, *cells: tuple[str, str, str]) -> StrategyNeeds:
    return StrategyNeeds(
        workload="w",
        strategy=strategy,
        world=8,
        status="counted",
        needs=tuple(
            CollectiveNeed(
                primitive=primitive, dtype=dtype, reduce_op=op, group=8, calls=1, bytes=4
            )
            for primitive, dtype, op in cells
        ),
    )


def test_a_need_is_a_gap_when_its_cell_is_not_ok_and_untested_when_there_is_none() -> None:
    cells = (
        CollectiveCell(primitive="all_reduce", dtype="float32", reduce_op="sum", status="ok"),
        CollectiveCell(
            primitive="all_gather", dtype="float8_e4m3fn", status="gap", detail="Invalid scalar"
        ),
        CollectiveCell(primitive="send_recv", dtype="float32", status="wrong"),
    )
    probe = CollectiveProbe(backend="gloo", device="cpu", ranks=2, cells=cells)
    strategies = [
        needs("ddp", ("all_reduce", "float32", "sum")),
        needs("fsdp2", ("all_gather", "float8_e4m3fn", "")),
        needs("pp", ("send", "float32", ""), ("recv", "float32", "")),
        needs("ep", ("all_to_all", "float16", "")),
    ]
    found = communication(probe, strategies)
    assert found is not None
    told = {(gap.primitive, gap.dtype): (gap.status, gap.strategies) for gap in found.gaps}
    assert told == {
        ("all_gather", "float8_e4m3fn"): ("gap", ("fsdp2",)),
        ("all_to_all", "float16"): ("untested", ("ep",)),
        ("send_recv", "float32"): ("wrong", ("pp",)),
    }


def test_without_a_probe_nothing_is_called_a_gap() -> None:
    found = communication(None, [needs("ddp", ("all_reduce", "float32", "sum"))])
    assert found is not None
    assert found.gaps == ()
    assert communication(None, []) is None


def test_of_eight_ranks_no_two_bring_the_same() -> None:
    for dtype in ("float32", "uint8", "float8_e5m2"):
        assert len({tuple(mine(rank, dtype)) for rank in range(8)}) == 8


def test_what_eight_ranks_come_to_fits_into_every_dtype() -> None:
    # 1 2 3 4 and 2 3 4 5, each once in every place
    assert set(reduced("SUM", "float32", 8)) == {24.0}
    assert set(reduced("PRODUCT", "int32", 8)) == {24.0 * 120.0}
    assert set(reduced("PRODUCT", "uint8", 8)) == {2880.0 % 256}  # as a byte wraps
    # sums of float8 stay below 9, which e5m2 has all whole numbers of
    assert max(reduced("SUM", "float8_e5m2", 8)) == 8.0
    assert reduced("SUM", "float8_e4m3fn", 2)[:4] == [2.0, 0.0, 1.0, 1.0]
