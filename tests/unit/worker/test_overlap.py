"""How collectives and computation overlap in a trace, by spans counted by hand."""

from __future__ import annotations

from typing import Any

from ciwm.worker.overlap import STEP, Share, shares

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def event(name: str, cat: str, begin: float, end: float, tid: Any = 1) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": 1,
        "tid": tid,
        "name": name,
        "cat": cat,
        "ts": begin,
        "dur": end - begin,
    }


def step(begin: float, end: float) -> dict[str, Any]:
    return event(STEP, "user_annotation", begin, end)


def test_on_a_device_kernels_of_the_library_count_and_other_kernels_cover_them() -> None:
    trace = [
        step(0, 100),
        event(STEP, "gpu_user_annotation", 0, 300, tid=7),  # the device's side of it: not a step
        event("c10d::allreduce_", "cpu_op", 0, 90),  # only queues it
        event("nccl:all_reduce", "gpu_user_annotation", 10, 90, tid=20),
        event(ALL_REDUCE, "kernel", 20, 60, tid=20),
        event(ALL_REDUCE, "kernel", 50, 70, tid=20),  # together: 20 to 70
        event("gemm", "kernel", 0, 30, tid=7),  # covers 10
        event("Memcpy HtoD", "gpu_memcpy", 65, 80, tid=8),  # covers 5
        {"ph": "i", "name": "mark", "ts": 3},
    ]

    assert shares(trace, on_device=True) == [Share(100, 50, 35, 4)]


def test_each_step_has_its_own_part_of_what_crosses_its_ends() -> None:
    trace = [step(0, 10), step(20, 30), event("rcclKernel", "kernel", 5, 22, tid=9)]

    assert shares(trace, on_device=True) == [Share(10, 5, 5, 1), Share(10, 2, 2, 1)]


def test_kernels_that_take_a_collective_s_place_count() -> None:
    names = [
        "void vllm::cross_device_reduce_1stage<__half, 8>(...)",
        "one_shot_all_reduce_kernel",
        "multimem_all_reduce_kernel<BFloat16>",
        "hcom_allReduce_",
    ]
    for name in names:
        assert shares([step(0, 10), event(name, "Kernel", 0, 4)], on_device=True)[0].total_us == 4
    reduced = event("at::native::reduce_kernel<512, 1>", "kernel", 0, 4)
    assert shares([step(0, 10), reduced], on_device=True)[0].total_us == 0


def test_on_the_cpu_works_count_from_start_to_end_and_operators_cover_them() -> None:
    trace = [
        step(0, 100),
        event("c10d::allreduce_", "cpu_op", 10, 12),
        event("gloo:all_reduce", "user_annotation", 11, 80, tid=5),  # in all 10 to 80
        event("aten::copy_", "cpu_op", 20, 70, tid=5),  # the worker's own
        event("aten::mm", "cpu_op", 30, 50),  # covers 20
        event("AccumulateGrad", "cpu_op", 0, 95),  # has a collective in it: no computation
        event("DistributedDataParallel.forward", "user_annotation", 0, 95),
    ]

    assert shares(trace, on_device=False) == [Share(100, 70, 50, 0)]


def test_waiting_for_a_functional_collective_is_exposed() -> None:
    trace = [
        step(0, 50),
        event("_c10d_functional::all_reduce", "cpu_op", 0, 5),
        event("gloo:all_reduce", "user_annotation", 4, 30, tid=5),
        event("aten::add", "cpu_op", 10, 45),
        event("_c10d_functional::wait_tensor", "cpu_op", 20, 32),
        event("aten::add", "cpu_op", 33, 44),
    ]

    assert shares(trace, on_device=False) == [Share(50, 32, 32, 0)]
