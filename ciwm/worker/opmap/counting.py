"""Counting FLOPs and bytes operator by operator, below autograd."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Set, Tuple

from .dispatched import replacing
from .formulas import computes, teach


def storage_key(tensor: Any) -> Any:
    """What two tensors on the same memory have in common, fake ones too."""
    import torch

    if tensor.layout != torch.strided:  # it has several, and none of its own
        return ("sparse", id(tensor))
    return tensor.untyped_storage()._cdata  # noqa: SLF001  a fake storage has no data pointer


def size_of(tensor: Any) -> int:
    """Bytes of the elements that a tensor shows; of a sparse one those of its parts."""
    import torch

    if tensor.layout == torch.sparse_coo:
        return size_of(tensor._indices()) + size_of(tensor._values())  # noqa: SLF001  uncoalesced
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values())
        return sum(map(size_of, parts))
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        parts = (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
        return sum(map(size_of, parts))
    return int(tensor.numel()) * int(tensor.element_size())


def _held_bytes(tensor: Any) -> int:
    """Bytes of the memory that a tensor is in, seen or not."""
    import torch

    strided = tensor.layout == torch.strided
    return int(tensor.untyped_storage().nbytes()) if strided else size_of(tensor)


def tensors_of(value: Any) -> List[Any]:
    """The tensors in a nest of containers, each once."""
    import torch
    from torch.utils._pytree import tree_leaves

    found = {id(one): one for one in tree_leaves(value) if isinstance(one, torch.Tensor)}
    return list(found.values())


@contextlib.contextmanager
def saved_bytes(excluded: Set[Any]) -> Iterator[List[int]]:
    """Bytes of the storages that autograd saves within, but for the excluded ones."""
    import torch

    known, total = set(excluded), [0]

    def pack(tensor: Any) -> Any:
        key = storage_key(tensor)
        if key not in known:
            known.add(key)
            total[0] += _held_bytes(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield total


def counting(tally: Tally) -> Any:
    """A context in which `tally` counts every operator that computes, with its result."""
    teach()

    def call(op: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        result = op(*args, **kwargs)
        if not _is_view(op):
            tally.count(op, args, kwargs, result)
        return result

    return replacing(call)


class Tally:
    """What was counted; `used_bytes` are those of `parameters` (storages) that were read, once.

    `largest_bytes` are what the largest operator holds beside what the model is made of (`own`).
    """

    def __init__(self, parameters: Set[Any], own: Set[Any]) -> None:
        self.flops = 0
        self.moved_bytes = 0
        self.used_bytes = 0
        self.largest_bytes = 0
        self.uncounted: Set[str] = set()
        self._parameters = set(parameters)
        self._own = set(own)

    def count(self, op: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Count one call."""
        from torch.utils.flop_counter import flop_registry

        given, made = tensors_of((args, kwargs)), tensors_of(result)
        made = made or tensors_of(_written(op, args))
        if not made:  # a question about a tensor, not a computation
            return
        moved = sum(map(size_of, given)) + sum(map(size_of, made))
        if "embedding" in str(op):  # the rows that are looked up, not the table
            moved = _looked_up_bytes(op, args, made)
            self.used_bytes += sum(map(size_of, made))
        else:
            self._use(given)
        self.moved_bytes += moved
        self.largest_bytes = max(self.largest_bytes, self._beside_own(given + made))
        packet = getattr(op, "_overloadpacket", op)  # the registry's key
        if packet in flop_registry:
            self.flops += int(flop_registry[packet](*args, **kwargs, out_val=result))
        elif computes(str(op)):
            self.uncounted.add(str(op))

    def _beside_own(self, tensors: List[Any]) -> int:
        """Bytes of the memory they are in, each memory once: an operator may write in place."""
        held = {storage_key(one): _held_bytes(one) for one in tensors}
        return sum(each for key, each in held.items() if key not in self._own)

    def _use(self, given: List[Any]) -> None:
        for one in given:
            key = storage_key(one)
            if key in self._parameters:
                self._parameters.discard(key)
                self.used_bytes += _held_bytes(one)


def _looked_up_bytes(op: Any, args: Any, made: List[Any]) -> int:
    """Rows read and results written; a bag sums many rows to one."""
    written = sum(map(size_of, made))
    if not str(op).startswith("aten._embedding_bag") or "backward" in str(op):
        return 2 * written
    table, indices = args[0], args[1]
    row_bytes = int(table[0].numel()) * int(table.element_size()) if table.numel() else 0
    return int(indices.numel()) * row_bytes + size_of(indices) + written


def _written(op: Any, args: Any) -> List[Any]:
    """The arguments that an operator without a result writes to (those of `_foreach_*_`)."""
    stated = op._schema.arguments if hasattr(op, "_schema") else ()  # noqa: SLF001  torch's only word on it
    pairs = zip(stated, args)
    return [given for one, given in pairs if one.alias_info is not None and one.alias_info.is_write]


def _is_view(op: Any) -> bool:
    if not hasattr(op, "_schema"):
        return False
    returns = op._schema.returns  # noqa: SLF001  torch's only word on it
    return any(one.alias_info is not None and not one.alias_info.is_write for one in returns)
