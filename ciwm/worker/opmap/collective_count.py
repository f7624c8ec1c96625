"""Collectives as they are called: primitive, dtype, reduce-op, size of the group, calls and bytes.

Bytes are of the whole array: what an all-gather ends with, what a reduce-scatter begins with.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from .dispatched import watching
from .tensors import tensors_in

PRIMITIVES = {
    "allreduce_": "all_reduce",
    "allreduce_coalesced_": "all_reduce",
    "all_reduce": "all_reduce",
    "all_reduce_": "all_reduce",
    "all_reduce_coalesced": "all_reduce",
    "all_reduce_coalesced_": "all_reduce",
    "_allgather_base_": "all_gather",
    "allgather_": "all_gather",
    "allgather_coalesced_": "all_gather",
    "allgather_into_tensor_coalesced_": "all_gather",
    "all_gather_into_tensor": "all_gather",
    "all_gather_into_tensor_out": "all_gather",
    "all_gather_into_tensor_coalesced": "all_gather",
    "_reduce_scatter_base_": "reduce_scatter",
    "reduce_scatter_": "reduce_scatter",
    "reduce_scatter_tensor_coalesced_": "reduce_scatter",
    "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "reduce_scatter_tensor_out": "reduce_scatter",
    "shard_dim_alltoall": "all_to_all",  # DTensor's, from one dimension to another
    "one_shot_all_reduce": "all_reduce",  # of symmetric memory, as the next three
    "two_shot_all_reduce_": "all_reduce",
    "multimem_all_reduce_": "all_reduce",
    "multimem_one_shot_all_reduce": "all_reduce",
    "alltoall_base_": "all_to_all",
    "alltoall_": "all_to_all",
    "all_to_all_single": "all_to_all",
    "broadcast": "broadcast",
    "broadcast_": "broadcast",
    "reduce_": "reduce",
    "gather_": "gather",
    "scatter_": "scatter",
    "send": "send",
    "recv_": "recv",
    "recv_any_source_": "recv",
    "isend": "send",
    "irecv": "recv",
    "barrier": "barrier",
    "monitored_barrier_": "barrier",
}
SPACES = ("c10d", "_c10d_functional", "_dtensor", "symm_mem")
BATCH = "batch_p2p_ops"  # several sends and receives, named in a list
_REDUCE_OPS = ("sum", "avg", "product", "min", "max", "band", "bor", "bxor", "premul_sum")
_REDUCING = ("all_reduce", "reduce_scatter", "reduce")


class Key(NamedTuple):
    """What makes two collectives the same need."""

    primitive: str
    dtype: str
    reduce_op: str
    group: int


class Counted:
    """Needs with calls and the bytes of each, in the order they first came."""

    def __init__(self) -> None:
        self.uses: Dict[Key, List[int]] = {}

    def take(self, func: Any, args: Sequence[Any]) -> None:
        """Count a dispatched operator, when it is a collective."""
        space, _, rest = str(func).partition(".")
        name = rest.split(".")[0]
        primitive = PRIMITIVES.get(name)
        if space in SPACES and name == BATCH:
            self._take_batch(args)
        if space not in SPACES or primitive is None:
            return
        group = _group_size(args)
        dtype, size = _payload(primitive, args, group)
        key = Key(primitive, dtype, _reduce_op(args) if primitive in _REDUCING else "", group)
        self.uses.setdefault(key, []).append(size)

    def _take_batch(self, args: Sequence[Any]) -> None:
        for name, tensor in zip(args[0], args[3]):
            dtype, size = _payload(PRIMITIVES[name], (tensor,), 0)
            key = Key(PRIMITIVES[name], dtype, "", _group_size(args))
            self.uses.setdefault(key, []).append(size)


def counting(counted: Counted) -> Any:
    """A context in which every collective of this process is counted."""
    return watching(lambda func, args, _kwargs: counted.take(func, args))


def _payload(primitive: str, args: Sequence[Any], group: int) -> Tuple[str, int]:
    """Dtype and bytes of the whole array."""
    if primitive == "barrier":  # the tensor it takes only says where
        return "", 0
    groups = [tensors_in(each) for each in args]
    groups = [each for each in groups if each]
    if not groups:
        return "", 0
    sizes = [sum(each.numel() * each.element_size() for each in tensors) for tensors in groups]
    dtype = str(groups[0][0].dtype).split(".")[-1]
    if primitive == "all_gather":  # with its result among the arguments, or its part alone
        return dtype, max(sizes) if len(sizes) > 1 else sizes[0] * group
    return dtype, max(sizes[:2])


def _group_size(args: Sequence[Any]) -> int:
    """The size of the group among the arguments: an object, or a name."""
    import torch
    from torch import distributed

    for value in args:
        if isinstance(value, distributed.ProcessGroup):
            return int(value.size())
        if isinstance(value, torch.ScriptObject):
            try:
                return int(distributed.ProcessGroup.unbox(value).size())
            except (RuntimeError, TypeError):
                continue
    for value in reversed(args):
        if isinstance(value, str):
            try:
                resolve = distributed.distributed_c10d._resolve_process_group  # noqa: SLF001
                return int(resolve(value).size())
            except (RuntimeError, ValueError, KeyError):
                continue
    return 0


def _reduce_op(args: Sequence[Any]) -> str:
    import torch

    for value in args:
        if isinstance(value, torch.ScriptObject) and value._has_method("op"):  # noqa: SLF001
            number = int(value._get_method("op")())  # noqa: SLF001  its only door
            return _REDUCE_OPS[number] if number < len(_REDUCE_OPS) else str(number)
    named: List[str] = [value for value in args if isinstance(value, str)]
    return next((name.lower() for name in named if name.lower() in _REDUCE_OPS), "sum")
