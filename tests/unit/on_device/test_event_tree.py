"""Fallbacks and hidden copies in hand-made profiles and traces."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from ciwm.worker.opmap.cpu_libraries import counted
from ciwm.worker.opmap.event_tree import (
    STEP,
    TO_CPU,
    Row,
    fallbacks,
    hidden_copies,
    kernels,
    rows_of,
    step_time_us,
    traced,
)


def test_an_operator_with_a_to_cpu_child_fell_back_and_its_calls_and_time_are_counted() -> None:
    rows = [
        Row(STEP, -1, 100.0),
        Row("aten::gelu", 0, 30.0),
        Row(TO_CPU, 1, 5.0),
        Row("aten::gelu", 0, 10.0),
        Row(TO_CPU, 3, 5.0),
        Row("aten::mm", 0, 50.0),
    ]
    found = fallbacks(rows)
    assert found.calls == {"aten::gelu": 2}
    assert found.time_us == {"aten::gelu": 40.0}
    assert step_time_us(rows) == 100.0


def test_a_fallback_inside_another_is_counted_but_its_time_is_the_outer_ones() -> None:
    rows = [
        Row("aten::outer", -1, 30.0),
        Row(TO_CPU, 0, 1.0),
        Row("aten::inner", 0, 20.0),
        Row(TO_CPU, 2, 1.0),
    ]
    found = fallbacks(rows)
    assert found.calls == {"aten::outer": 1, "aten::inner": 1}
    assert found.time_us == {"aten::outer": 30.0, "aten::inner": 0.0}


def test_a_memcpy_to_the_host_is_blamed_on_the_operator_around_it() -> None:
    copy = [("Memcpy DtoH (Device -> Pageable)", 2.0)]
    rows = [
        Row("aten::nonzero", -1, 9.0),
        Row("cudaMemcpyAsync", 0, 2.0, copy),
        Row("aten::to", -1, 9.0),
        Row("aten::copy_", 2, 9.0, copy),
        Row("aten::cumsum", -1, 9.0),
        Row(TO_CPU, 4, 3.0, copy),
    ]
    # asked for by .to(), and part of a fallback that is known: neither is hidden
    assert hidden_copies(rows) == {"aten::nonzero": 1}


def test_kernels_belong_to_the_innermost_operator() -> None:
    rows = [
        Row("aten::linear", -1, 9.0),
        Row("aten::addmm", 0, 8.0),
        Row("cudaLaunchKernel", 1, 1.0, [("ampere_sgemm_128x64_tn", 6.0)]),
        Row("aten::mkldnn_convolution", 0, 4.0),
    ]
    assert kernels(rows) == {
        ("aten::addmm", "ampere_sgemm_128x64_tn"): (1, 6.0),
        ("aten::linear", "aten::mkldnn_convolution"): (1, 4.0),
    }


def node(number: int, parent: int, name: str, ins: list[str], outs: list[str]) -> dict[str, Any]:
    """A node of a Chakra trace; tensors are (id, storage, offset, count, size, device)."""

    def side(devices: list[str]) -> dict[str, Any]:
        values = [[1, 1, 0, 1, 4, device] for device in devices]
        return {"values": values, "types": ["Tensor(float)"] * len(devices)}

    schema = {"name": "op_schema", "value": f"{name}.out(Tensor self) -> Tensor"}
    sides = {"inputs": side(ins), "outputs": side(outs)}
    return {"id": number, "ctrl_deps": parent, "name": name, "attrs": [schema], **sides}


def test_a_trace_names_overloads_of_fallbacks_and_copies_by_their_devices() -> None:
    nodes = [
        node(1, 0, "aten::gelu", ["toy:0"], ["toy:0"]),
        node(2, 1, TO_CPU, ["toy:0"], ["cpu"]),
        node(3, 0, "aten::sigmoid", ["toy:0"], ["toy:0"]),
        node(4, 3, "aten::_to_copy", ["toy:0"], ["cpu"]),
        node(5, 4, "aten::copy_", ["cpu", "toy:0"], ["cpu"]),  # the same copy again
        node(6, 3, "aten::copy_", ["toy:0", "cpu"], ["toy:0"]),  # the way back
        node(7, 0, "aten::_to_copy", ["toy:0"], ["cpu"]),  # asked for
        node(8, 0, "aten::nonzero", ["toy:0"], ["toy:0"]),
        node(9, 8, "aten::_local_scalar_dense", ["toy:0"], []),
    ]
    found = traced(nodes, "toy")
    assert found.overloads == {"aten::gelu.out": 1}
    assert found.hidden == {
        ("aten::sigmoid.out", "copy"): 1,
        ("aten::nonzero.out", "scalar"): 1,
    }


def test_the_verbose_lines_of_onednn_and_onemkl_are_counted_by_primitive() -> None:
    said = [
        "onednn_verbose,v1,info,oneDNN v3.11.2",
        "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx2,undef,src:f32,,,2x4:4x3,0.5",
        "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx2,undef,src:f32,,,2x4:4x3,0.25",
        "MKL_VERBOSE SGEMM(N,N,256,32,64,0x7f,0x55) 1.50ms CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:2",
        "hello from the workload",
    ]
    assert counted(said) == [
        {"library": "oneDNN", "primitive": "matmul brg_matmul:avx2", "calls": 2, "time_us": 750.0},
        {"library": "oneMKL", "primitive": "SGEMM", "calls": 1, "time_us": 1500.0},
    ]


def event(name: str, parent: Any = None, *, where: str = "CPU", **more: Any) -> SimpleNamespace:
    """An event as torch.profiler gives it, as far as it is read."""
    fields: dict[str, Any] = {"cpu_time_total": 10.0, "kernels": [], "is_user_annotation": False}
    device = f"DeviceType.{where}"
    return SimpleNamespace(name=name, cpu_parent=parent, device_type=device, **{**fields, **more})


def test_the_devices_own_mark_of_a_step_is_no_second_step_and_no_kernel() -> None:
    mark = SimpleNamespace(name=STEP, duration=9.0)
    step = event(STEP, kernels=[mark], is_user_annotation=True)
    product = event("aten::mm", step, kernels=[SimpleNamespace(name="ampere_sgemm", duration=4.0)])
    again = event(STEP, where="CUDA", cpu_time_total=0.0, is_user_annotation=True)
    rows = rows_of([step, again, product, event("ampere_sgemm", where="CUDA")])
    assert [row.name for row in rows] == [STEP, "aten::mm"]
    assert rows[1].parent == 0
    assert step_time_us(rows) == 10.0
    assert kernels(rows) == {("aten::mm", "ampere_sgemm"): (1, 4.0)}


def test_a_long_profile_is_read_in_the_time_it_takes_to_walk_through_it() -> None:
    copy = [("Memcpy DtoH (Device -> Pageable)", 1.0)]
    rows: list[Row] = []
    for _ in range(20_000):
        place = len(rows)
        rows += [Row("aten::gelu", -1, 3.0), Row(TO_CPU, place, 1.0)]
        rows += [Row("aten::nonzero", -1, 3.0), Row("cudaMemcpyAsync", place + 2, 1.0, copy)]
    began = time.process_time()
    assert fallbacks(rows).calls == {"aten::gelu": 20_000}
    assert hidden_copies(rows) == {"aten::nonzero": 20_000}
    assert time.process_time() - began < 20  # quadratic, it takes minutes
