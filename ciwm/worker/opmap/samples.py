"""Where the inputs of an operator come from: PyTorch's OpInfo samples, and what those leave out."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence

from .edges import edge_inputs
from .tensors import of_map, spread, tensors_in

LARGEST = 1 << 16  # elements of a sample's largest tensor; a few of OpInfo's take half a minute
SOURCES = ("opinfo", "noncontiguous", "edge", "special", "workload")


class Case(NamedTuple):
    """One call: where it comes from, its arguments, and what makes its result unique."""

    source: str
    input: Any
    args: Sequence[Any]
    kwargs: Dict[str, Any]
    unique: Callable[[Any], Any]


def operators() -> Dict[str, Any]:
    """PyTorch's operator descriptions, by name and variant; needs expecttest (ImportError)."""
    from torch.testing._internal import common_methods_invocations as described

    # we seed before every call; a seed set and taken back inside would hide that one drew numbers
    described.wrapper_set_seed = _without_seed
    found: Dict[str, Any] = {}
    for op in described.op_db:
        name = op.name + ("|" + op.variant_test_name if op.variant_test_name else "")
        found.setdefault(name, op)
    return found


def cases(op: Any, dtype: Any, sources: Sequence[str], count: int) -> Iterator[Case]:
    """The inputs of one operator in one dtype, `count` of OpInfo's evenly from its list.

    Raises what OpInfo's own sample function raises.
    """
    import torch

    differentiable = dtype.is_floating_point or dtype.is_complex
    backward = differentiable and op.supports_autograd and dtype in op.backward_dtypes
    with _cpu_seeds():
        torch.manual_seed(1)
        known = list(op.sample_inputs("cpu", dtype, requires_grad=backward))
    chosen = _evenly(_small(known), count)
    if "opinfo" in sources:
        for sample in chosen:
            yield _case("opinfo", sample)
    if "noncontiguous" in sources:
        for sample in sorted(chosen, key=elements)[-2:]:
            yield _strided(sample)
    for source in ("edge", "special"):
        if source in sources:
            for value, args, kwargs in edge_inputs(op, dtype, source, backward):
                yield Case(source, value, args, kwargs, _as_it_is)


def _without_seed(operator: Any, *args: Any, **kwargs: Any) -> Any:
    return operator(*args, **kwargs)


@contextlib.contextmanager
def _cpu_seeds() -> Iterator[None]:
    """Seeds go to the CPU's generator only; OpInfo sets one for each sample.

    torch.manual_seed keeps a traceback for each kind of device that is not in use: half of the
    time of a sweep.
    """
    import torch

    before = torch.manual_seed
    torch.manual_seed = torch.default_generator.manual_seed
    try:
        yield
    finally:
        torch.manual_seed = before


def _case(source: str, sample: Any) -> Case:
    unique = sample.output_process_fn_grad
    return Case(source, sample.input, sample.args, sample.kwargs, unique)


def _strided(sample: Any) -> Case:
    """The sample with gaps between the elements of each floating tensor."""
    import torch

    def gaps(tensor: Any) -> Any:
        if tensor.layout != torch.strided or tensor.is_quantized or not tensor.is_floating_point():
            return tensor
        return spread(tensor.detach()).requires_grad_(tensor.requires_grad)

    value, args, kwargs = of_map(gaps, (sample.input, sample.args, sample.kwargs))
    return Case("noncontiguous", value, args, kwargs, sample.output_process_fn_grad)


def _small(samples: List[Any]) -> List[Any]:
    """The samples up to LARGEST elements, or, where none is that small, the smallest."""
    small = [sample for sample in samples if elements(sample) <= LARGEST]
    return small or sorted(samples, key=elements)[:1]


def elements(sample: Any) -> int:
    """How many elements the sample's largest tensor has."""
    found = tensors_in((sample.input, list(sample.args), dict(sample.kwargs)))
    return max((tensor.numel() for tensor in found), default=0)


def _evenly(items: List[Any], count: int) -> List[Any]:
    """At most `count` of the items, the first and the last among them."""
    if len(items) <= count:
        return items
    step = (len(items) - 1) / max(1, count - 1)
    return [items[round(number * step)] for number in range(count)]


def _as_it_is(result: Any) -> Any:
    return result
