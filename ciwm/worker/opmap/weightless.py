"""Models on tensors without data."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator


@contextlib.contextmanager
def without_data() -> Iterator[None]:
    """Every tensor made within has a shape, a dtype and no memory; modules may be converted."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    swap = torch.utils.swap_tensors
    torch.utils.swap_tensors = _replace
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            yield
    finally:
        torch.utils.swap_tensors = swap


def _replace(old: Any, new: Any) -> None:
    """Give a parameter its converted data: fake ones are referred to, and refuse to be swapped.

    Without it `model.to(torch.bfloat16)` fails, and a model would be counted with its weights.
    """
    old.data = new.data
