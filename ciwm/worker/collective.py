"""A collective of torch.distributed as a workload: made once a series, its `.step()` timed.

It is loaded by path, like a workload file of a user's, and imports torch and nothing else. The
buffers are nccl-tests': `elements` are those of the larger buffer of a rank, so that the operation
moves `elements` times the item's size over a time, which is its algorithm bandwidth.
"""

from __future__ import annotations

import atexit
import importlib
import os
import time
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist

LEAST_STEP_S = 2e-3  # a step is at least so long, so that ranks that start apart matter little
MOST_CALLS = 200
FIRST_CALLS = 3


class Collective:
    """One operation on one size and dtype, between all ranks; its result is checked once."""

    def __init__(
        self, op: str, elements: int, dtype: str, backend: str, imports: Sequence[str]
    ) -> None:
        for name in imports:
            importlib.import_module(name)
        self._device = _device(backend)
        if not dist.is_initialized():
            dist.init_process_group(backend or _backend(self._device))
            atexit.register(dist.destroy_process_group)
        self._rank, self._size = dist.get_rank(), dist.get_world_size()
        self._elements = elements
        self._kind: Any = getattr(torch, dtype)
        self._run = self._operation(op)
        self.calls_per_step = self._agreed_calls()

    def step(self) -> None:
        """The operation, `calls_per_step` times."""
        for _ in range(self.calls_per_step):
            self._run()

    def teardown(self) -> None:
        """Wait for the other ranks; the process group is kept for the next series."""
        dist.barrier()

    def _operation(self, op: str) -> Callable[[], Any]:
        """The operation on buffers of zeros, once it has been seen to give the right result."""
        run, result, expected = getattr(self, "_" + op)()
        run()
        self._synchronise()
        if not torch.equal(result, expected):
            raise RuntimeError(f"{op} of {self._elements} {self._kind} gave a wrong result")
        checked: Callable[[], Any] = run
        return checked

    def _agreed_calls(self) -> int:
        """Calls in a step, from the slowest rank's first ones."""
        for _ in range(FIRST_CALLS):
            self._run()
        self._synchronise()
        dist.barrier()
        start = time.perf_counter()
        for _ in range(FIRST_CALLS):
            self._run()
        self._synchronise()
        took = torch.tensor([time.perf_counter() - start], dtype=torch.float32)
        took = took.to(self._device)
        dist.all_reduce(took, dist.ReduceOp.MAX)
        wanted = LEAST_STEP_S / max(float(took) / FIRST_CALLS, 1e-9)
        return max(1, min(MOST_CALLS, int(wanted) + 1))

    def _synchronise(self) -> None:
        if self._device.type != "cpu":
            torch.accelerator.synchronize()

    def _full(self, elements: int, value: int) -> Any:
        return torch.full((elements,), value, dtype=self._kind, device=self._device)

    def _all_reduce(self) -> Any:
        """Sums in place; on zeros, which stay in range however often it is done."""
        ones = self._full(self._elements, 1)
        dist.all_reduce(ones)
        data = self._full(self._elements, 0)
        return lambda: dist.all_reduce(data), ones, self._full(self._elements, self._size)

    def _all_gather(self) -> Any:
        share = self._elements // self._size
        mine, every = self._full(share, self._rank % 100), self._full(self._elements, 0)
        expected = torch.cat([self._full(share, rank % 100) for rank in range(self._size)])
        gather = _newer("all_gather_single", "all_gather_into_tensor")
        return lambda: gather(every, mine), every, expected

    def _reduce_scatter(self) -> Any:
        share = self._elements // self._size
        every, mine = self._full(self._elements, 1), self._full(share, 0)
        expected = self._full(share, self._size)
        scatter = _newer("reduce_scatter_single", "reduce_scatter_tensor")
        return lambda: scatter(mine, every), mine, expected

    def _broadcast(self) -> Any:
        data = self._full(self._elements, 7 if self._rank == 0 else 0)
        return lambda: dist.broadcast(data, 0), data, self._full(self._elements, 7)

    def _all_to_all(self) -> Any:
        share = self._elements // self._size
        ranks = range(self._size)
        given = torch.cat([self._full(share, (self._rank + to) % 100) for to in ranks])
        got = self._full(self._elements, 0)
        expected = torch.cat([self._full(share, (one + self._rank) % 100) for one in ranks])
        return lambda: dist.all_to_all_single(got, given), got, expected

    def _send_recv(self) -> Any:
        """Each rank sends to the next one and receives from the one before."""
        following, before = (self._rank + 1) % self._size, (self._rank - 1) % self._size
        given, got = self._full(self._elements, self._rank % 100), self._full(self._elements, 0)

        def run() -> None:
            sends = dist.P2POp(dist.isend, given, following)
            receives = dist.P2POp(dist.irecv, got, before)
            for work in dist.batch_isend_irecv([sends, receives]):
                work.wait()

        return run, got, self._full(self._elements, before % 100)


def _device(backend: str) -> Any:
    """This rank's accelerator, or the CPU where there is none or gloo or MPI is asked for."""
    accelerator: Any = getattr(torch, "accelerator", None)
    if backend in ("gloo", "mpi") or accelerator is None or not accelerator.is_available():
        return torch.device("cpu")
    index = int(os.environ.get("LOCAL_RANK", "0"))
    accelerator.set_device_index(index)
    return torch.device(accelerator.current_accelerator().type, index)


def _newer(name: str, older: str) -> Any:
    """A function of torch.distributed by its name since torch 2.13, or the one before."""
    return getattr(dist, name) if hasattr(dist, name) else getattr(dist, older)


def _backend(device: Any) -> str:
    return str(dist.get_default_backend_for_device(device))
