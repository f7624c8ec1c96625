"""The cells of the collective probe: primitive x dtype x reduce-op, each with its numbers by hand.

Stands alone like the script that runs it: standard library and torch.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Sequence

DTYPES = [
    "float32",
    "bfloat16",
    "float16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
]
REDUCE_OPS = ("SUM", "AVG", "MIN", "MAX", "PRODUCT")
COUNT = 12  # elements a rank brings; a multiple of every small group size that is not prime


class Cell(NamedTuple):
    """One thing to try: its name in three parts, and the trial, True when its numbers are right."""

    primitive: str
    dtype: str
    reduce_op: str
    trial: Callable[[], bool]


class Ranks:
    """What a trial knows: torch, the group, this rank, the device."""

    def __init__(self, device: str) -> None:
        import torch
        from torch import distributed

        self.torch, self.dist = torch, distributed
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self.device = device

    def tensor(self, values: Sequence[float], dtype: str) -> Any:
        """Numbers on the device in a dtype, by way of float32."""
        made = self.torch.tensor(list(values), dtype=self.torch.float32)
        return made.to(getattr(self.torch, dtype)).to(self.device)

    def empty(self, count: int, dtype: str) -> Any:
        """A place for results, filled with something no trial expects."""
        return self.tensor([7.0] * count, dtype)

    def equal(self, tensor: Any, values: Sequence[float]) -> bool:
        """Whether a result holds these numbers, as far as its dtype can; bool means not zero."""
        got = tensor.cpu()
        if got.dtype == self.torch.bool:
            return list(got.tolist()) == [value != 0 for value in values]
        numbers = got.to(self.torch.complex64).tolist()
        return all(abs(number - value) < 1e-2 for number, value in zip(numbers, values))  # noqa: PLR2004


def mine(rank: int, dtype: str) -> List[float]:
    """What a rank brings: small numbers, of eight ranks no two alike, exact in every dtype.

    So are all that reducing them comes to on its way. float8 has room for 0 and 1 alone: it cannot
    tell 8 from 9.
    """
    if dtype == "bool":
        return [float((rank + place) % 2) for place in range(COUNT)]
    if dtype.startswith("float8"):
        return [float(place % (rank + 2) == 0) for place in range(COUNT)]
    return [float(1 + rank % 2 + (place + rank // 2) % 4) for place in range(COUNT)]


def reduced(op: str, dtype: str, size: int) -> List[float]:
    """What reducing the ranks' numbers leads to, by hand."""
    columns = list(zip(*[mine(rank, dtype) for rank in range(size)]))
    by_name: Dict[str, Callable[[Sequence[float]], float]] = {
        "SUM": sum,
        "AVG": lambda column: sum(column) / size,
        "MIN": min,
        "MAX": max,
        "PRODUCT": math.prod,
    }
    values = [float(by_name[op](column)) for column in columns]
    if dtype == "uint8":
        return [float(int(value) % 256) for value in values]  # as in C
    return [float(int(value)) for value in values] if dtype in ("int64", "int32") else values


def cells(ranks: Ranks) -> List[Cell]:
    """All cells, in a fixed order."""
    found: List[Cell] = []
    for dtype in DTYPES:
        if not hasattr(ranks.torch, dtype):
            continue
        found += [Cell("all_reduce", dtype, op, _all_reduce(ranks, dtype, op)) for op in REDUCE_OPS]
        found += [
            Cell("reduce_scatter", dtype, op, _reduce_scatter(ranks, dtype, op))
            for op in ("SUM", "AVG")
        ]
        found.append(Cell("reduce", dtype, "SUM", _reduce(ranks, dtype)))
        plain = (_all_gather, _broadcast, _all_to_all, _gather, _scatter, _send_recv)
        found += [Cell(make.__name__.lstrip("_"), dtype, "", make(ranks, dtype)) for make in plain]
    special = (_uneven, _listed, _coalesced, _no_elements, _strided, _barrier)
    return found + [Cell(make.__name__.lstrip("_"), "float32", "", make(ranks)) for make in special]


def _all_reduce(ranks: Ranks, dtype: str, op: str) -> Callable[[], bool]:
    def trial() -> bool:
        tensor = ranks.tensor(mine(ranks.rank, dtype), dtype)
        ranks.dist.all_reduce(tensor, getattr(ranks.dist.ReduceOp, op))
        return ranks.equal(tensor, reduced(op, dtype, ranks.size))

    return trial


def _reduce(ranks: Ranks, dtype: str) -> Callable[[], bool]:
    def trial() -> bool:
        tensor = ranks.tensor(mine(ranks.rank, dtype), dtype)
        ranks.dist.reduce(tensor, 0)
        return ranks.rank != 0 or ranks.equal(tensor, reduced("SUM", dtype, ranks.size))

    return trial


def _reduce_scatter(ranks: Ranks, dtype: str, op: str) -> Callable[[], bool]:
    def trial() -> bool:
        whole = mine(ranks.rank, dtype) * ranks.size
        out = ranks.empty(COUNT, dtype)
        ranks.dist.reduce_scatter_tensor(
            out, ranks.tensor(whole, dtype), getattr(ranks.dist.ReduceOp, op)
        )
        return ranks.equal(out, reduced(op, dtype, ranks.size))

    return trial


def _everyones(ranks: Ranks, dtype: str) -> List[float]:
    return [value for rank in range(ranks.size) for value in mine(rank, dtype)]


def _all_gather(ranks: Ranks, dtype: str) -> Callable[[], bool]:
    def trial() -> bool:
        out = ranks.empty(COUNT * ranks.size, dtype)
        ranks.dist.all_gather_into_tensor(out, ranks.tensor(mine(ranks.rank, dtype), dtype))
        return ranks.equal(out, _everyones(ranks, dtype))

    return trial


def _broadcast(ranks: Ranks, dtype: str) -> Callable[[], bool]:
    def trial() -> bool:
        tensor = ranks.tensor(mine(ranks.rank, dtype), dtype)
        ranks.dist.broadcast(tensor, 1)
        return ranks.equal(tensor, mine(1, dtype))

    return trial


def _all_to_all(ranks: Ranks, dtype: str) -> Callable[[], bool]:
    def trial() -> bool:
        sent = mine(ranks.rank, dtype) * ranks.size
        out = ranks.empty(COUNT * ranks.size, dtype)
        ranks.dist.all_to_all_single(out, ranks.tensor(sent, dtype))
        return ranks.equal(out, _everyones(ranks, dtype))

    return trial


def _gather(ranks: Ranks, dtype: str) -> Callable[[], bool]:
    def trial() -> bool:
        outs = [ranks.empty(COUNT, dtype) for _ in range(ranks.size)] if ranks.rank == 0 else None
        ranks.dist.gather(ranks.tensor(mine(ranks.rank, dtype), dtype), outs, 0)
        return outs is None or all(
            ranks.equal(out, mine(rank, dtype)) for rank, out in enumerate(outs)
        )

    return trial


def _scatter(ranks: Ranks, dtype: str) -> Callable[[], bool]:
    def trial() -> bool:
        parts = [ranks.tensor(mine(rank, dtype), dtype) for rank in range(ranks.size)]
        out = ranks.empty(COUNT, dtype)
        ranks.dist.scatter(out, parts if ranks.rank == 0 else None, 0)
        return ranks.equal(out, mine(ranks.rank, dtype))

    return trial


def _send_recv(ranks: Ranks, dtype: str) -> Callable[[], bool]:
    def trial() -> bool:
        after, before = (ranks.rank + 1) % ranks.size, (ranks.rank - 1) % ranks.size
        out = ranks.empty(COUNT, dtype)
        sent = ranks.tensor(mine(ranks.rank, dtype), dtype)
        dist = ranks.dist
        pair = [dist.P2POp(dist.isend, sent, after), dist.P2POp(dist.irecv, out, before)]
        for work in dist.batch_isend_irecv(pair):
            work.wait()
        return ranks.equal(out, mine(before, dtype))

    return trial


def _uneven(ranks: Ranks) -> Callable[[], bool]:
    """Rank r gets r + 1 elements from everybody."""

    def trial() -> bool:
        sizes = [rank + 1 for rank in range(ranks.size)]
        got = [ranks.rank + 1] * ranks.size
        out = ranks.empty(sum(got), "float32")
        sent = ranks.tensor([float(ranks.rank)] * sum(sizes), "float32")
        ranks.dist.all_to_all_single(out, sent, got, sizes)
        wanted = [float(rank) for rank in range(ranks.size) for _ in range(ranks.rank + 1)]
        return ranks.equal(out, wanted)

    return trial


def _listed(ranks: Ranks) -> Callable[[], bool]:
    def trial() -> bool:
        outs = [ranks.empty(2, "float32") for _ in range(ranks.size)]
        ins = [ranks.tensor([ranks.rank, to], "float32") for to in range(ranks.size)]
        ranks.dist.all_to_all(outs, ins)
        return all(ranks.equal(out, [rank, ranks.rank]) for rank, out in enumerate(outs))

    return trial


def _coalesced(ranks: Ranks) -> Callable[[], bool]:
    def trial() -> bool:
        tensors = [ranks.tensor([1.0, 2.0], "float32") for _ in range(3)]
        with ranks.dist._coalescing_manager(device=ranks.torch.device(ranks.device)):  # noqa: SLF001  FSDP's own way
            for tensor in tensors:
                ranks.dist.all_reduce(tensor)
        wait(ranks)
        return all(ranks.equal(each, [ranks.size, 2.0 * ranks.size]) for each in tensors)

    return trial


def _no_elements(ranks: Ranks) -> Callable[[], bool]:
    def trial() -> bool:
        ranks.dist.all_reduce(ranks.empty(0, "float32"))
        return True

    return trial


def _strided(ranks: Ranks) -> Callable[[], bool]:
    """Refusing a tensor with gaps is a gap; reading it as if it had none is wrong."""

    def trial() -> bool:
        buffer = ranks.tensor([float(place) for place in range(8)], "float32")
        view = buffer[::2]
        ranks.dist.all_reduce(view)
        return ranks.equal(view, [place * ranks.size for place in (0, 2, 4, 6)])

    return trial


def _barrier(ranks: Ranks) -> Callable[[], bool]:
    def trial() -> bool:
        ranks.dist.barrier()
        return True

    return trial


def wait(ranks: Ranks) -> None:
    """Wait for the device, where there is one."""
    if not ranks.device.startswith("cpu"):
        ranks.torch.accelerator.synchronize()
