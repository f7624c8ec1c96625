"""What a cache object of whatever make holds: of each token, and whatever the tokens."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, Tuple

from .counting import size_of

# a state that every token updates and none adds to: of Mamba, linear attention, recurrent networks
_STATE = re.compile(r"(conv|recurrent|ssm|rnn|hidden)_?states?")
DEPTH = 5


def cache_bytes(cache: Any) -> Tuple[int, int]:
    """Bytes of all tensors in a cache, and of those that grow with its tokens."""
    held: Dict[int, Tuple[Any, bool]] = {}
    for tensor, grows in _walk(cache, DEPTH, grows=True):
        held[id(tensor)] = tensor, grows
    total = sum(size_of(tensor) for tensor, _ in held.values())
    return total, sum(size_of(tensor) for tensor, grows in held.values() if grows)


def _walk(one: Any, depth: int, *, grows: bool) -> Iterator[Tuple[Any, bool]]:
    import torch

    if isinstance(one, torch.Tensor):
        yield one, grows and one.dim() > 1  # a count of tokens is none of them
    elif depth and isinstance(one, (list, tuple)):
        for part in one:
            yield from _walk(part, depth - 1, grows=grows)
    elif depth and (isinstance(one, dict) or hasattr(one, "__dict__")):
        for name, part in (one if isinstance(one, dict) else vars(one)).items():
            yield from _walk(part, depth - 1, grows=grows and not _STATE.fullmatch(str(name)))
