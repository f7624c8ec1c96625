"""Inputs at the edges, where kernels break: no elements, one, odd tails, odd values.

PyTorch's own samples are small and even. A vectorised loop that forgets its remainder, a launch of
zero threads, an exponential without its shift and a variance that cancels all pass them.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

Inputs = Tuple[Any, Sequence[Any], Dict[str, Any]]
SHAPES: Sequence[Tuple[int, ...]] = ((0,), (1,), (7,), (1027,), (3, 129), (0, 5))
ROWS: Sequence[Tuple[int, ...]] = ((1, 1), (3, 129), (2, 1027), (0, 5))


class _Maker:
    """Makes the tensors of a case: seeded, of one dtype, leaves that want a gradient or not."""

    def __init__(self, dtype: Any, backward: bool) -> None:  # noqa: FBT001
        import torch

        self.torch, self.dtype, self.backward = torch, dtype, backward
        self._generator = torch.Generator().manual_seed(7)

    def __call__(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> Any:
        made = self.torch.randn(shape, generator=self._generator, dtype=self.torch.float64)
        return (made * scale + shift).to(self.dtype).requires_grad_(self.backward)

    def within(self, shape: Sequence[int], low: float, high: float) -> Any:
        """Uniform values of an interval."""
        made = self.torch.rand(tuple(shape), generator=self._generator, dtype=self.torch.float64)
        return (made * (high - low) + low).to(self.dtype).requires_grad_(self.backward)

    def whole(self, shape: Sequence[int], below: int) -> Any:
        """Indices from 0 to below."""
        return self.torch.randint(0, below, tuple(shape), generator=self._generator)

    def special(self) -> Any:
        """Zeros, infinities, NaN, and numbers large, small and odd."""
        values = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e4, -1e4, 1e-4, -0.5]
        return self.torch.tensor(values, dtype=self.dtype)


def edge_inputs(op: Any, dtype: Any, source: str, backward: bool) -> Iterator[Inputs]:  # noqa: FBT001
    """The edge (`source` "edge") or special-value inputs known for an operator, if any."""
    if not dtype.is_floating_point:
        return
    make = _Maker(dtype, backward)
    kind = type(op).__name__
    if source == "special":
        yield from _special(op, make)
        return
    named = _NAMED.get(op.name)
    if named is not None and not op.variant_test_name:
        yield from named(make)
    elif kind == "UnaryUfuncInfo":
        yield from _unary(op, make)
    elif kind == "BinaryUfuncInfo":
        yield from _binary(op, make)
    elif kind == "ReductionOpInfo":
        for shape in ROWS:
            yield make(*shape), (), {"dim": -1}


def _special(op: Any, make: _Maker) -> Iterator[Inputs]:
    kind, value = type(op).__name__, make.special()
    if kind == "UnaryUfuncInfo":
        yield value, (), _arguments(op, make.special())
    elif kind == "BinaryUfuncInfo":
        yield value[:, None].contiguous(), (value,), {}
    elif op.name == "clamp":
        yield value, (-1.0, 1.0), {}


def _unary(op: Any, make: _Maker) -> Iterator[Inputs]:
    low, high = op.domain if isinstance(op.domain, tuple) else (None, None)
    # inside of the domain, where neither a pole nor its own rounding decides the result
    low = -3.0 if low is None else max(-3.0, low + 0.05)
    high = 3.0 if high is None else min(3.0, high - 0.05)
    for shape in SHAPES:
        value = make.within(shape, low, high)
        yield value, (), _arguments(op, value)


def _arguments(op: Any, value: Any) -> Dict[str, Any]:
    """What a unary operator needs beside its input, such as the order of a polygamma."""
    kwargs, _ = op.sample_kwargs("cpu", value.dtype, value)
    return dict(kwargs)


def _binary(op: Any, make: _Maker) -> Iterator[Inputs]:
    del op
    for shape in SHAPES:
        yield make.within(shape, 0.5, 3.0), (make.within(shape, 0.5, 3.0),), {}
    yield make.within((5, 1), 0.5, 3.0), (make.within((1, 13), 0.5, 3.0),), {}


def _gelu(make: _Maker) -> Iterator[Inputs]:
    for shape in SHAPES:
        yield make(*shape), (), {}


def _rows(make: _Maker) -> Iterator[Inputs]:
    """Softmax and its like: odd tails, and logits whose exponential overflows."""
    for shape in ROWS:
        yield make(*shape), (-1,), {}
    yield make(2, 5, scale=1000.0), (-1,), {}


def _reduction(make: _Maker) -> Iterator[Inputs]:
    for shape in (*ROWS, (129, 127)):
        yield make(*shape), (-1,), {}


def _matrices(make: _Maker) -> Iterator[Inputs]:
    for m, k, n in ((1, 1, 1), (17, 129, 33), (0, 4, 3), (64, 1024, 64)):
        yield make(m, k), (make(k, n),), {}


def _batches(make: _Maker) -> Iterator[Inputs]:
    for b, m, k, n in ((1, 1, 1, 1), (3, 17, 129, 33), (0, 2, 4, 3), (2, 3, 1024, 5)):
        yield make(b, m, k), (make(b, k, n),), {}


def _linear(make: _Maker) -> Iterator[Inputs]:
    for rows, inner, outer in ((1, 1, 1), (3, 129, 33), (0, 5, 2), (2, 1024, 7)):
        yield make(rows, inner), (make(outer, inner), make(outer)), {}


def _layer_norm(make: _Maker) -> Iterator[Inputs]:
    for rows, width in ((1, 1), (3, 129), (0, 5), (2, 1027)):
        yield make(rows, width), ((width,), make(width), make(width), 1e-5), {}
    # E[x^2] - E[x]^2 has nothing left of the variance here
    yield make(2, 256, shift=100.0), ((256,),), {}


def _rms_norm(make: _Maker) -> Iterator[Inputs]:
    for rows, width in ((1, 1), (3, 129), (0, 5), (2, 1027)):
        yield make(rows, width), ((width,), make(width)), {}


def _index_select(make: _Maker) -> Iterator[Inputs]:
    for count in (0, 1, 7, 129):
        yield make(4, 3), (0, make.whole((count,), 4)), {}


def _gather(make: _Maker) -> Iterator[Inputs]:
    for count in (0, 1, 7, 129):
        yield make(5, 3), (0, make.whole((count, 3), 5)), {}


def _embedding(make: _Maker) -> Iterator[Inputs]:
    for count in (0, 1, 7, 129):
        yield make(11, 5), (make.whole((count,), 11),), {}  # OpInfo turns the two round
    yield make(11, 5), (make.whole((129,), 11),), {"padding_idx": 3}


def _masked_fill(make: _Maker) -> Iterator[Inputs]:
    """As attention masks do it; and with nothing to fill, or nothing at all."""
    for shape in ROWS:
        yield make(*shape), (make.whole(shape, 2).bool(), float("-inf")), {}
    yield make(3, 129), (make.whole((3, 129), 1).bool(), float("-inf")), {}


def _scatter_add(make: _Maker) -> Iterator[Inputs]:
    for count in (0, 1, 7, 129):
        yield make(5, 3), (0, make.whole((count, 3), 5), make(count, 3)), {}


def _cumulative(make: _Maker) -> Iterator[Inputs]:
    for shape in ROWS:
        yield make(*shape), (-1,), {}


def _sorted(make: _Maker) -> Iterator[Inputs]:
    for shape in ((1,), (7,), (1027,), (3, 129), (0,)):
        yield make(*shape), (), {"dim": -1}


def _topk(make: _Maker) -> Iterator[Inputs]:
    for width, k in ((1, 1), (7, 7), (1027, 5), (129, 0)):
        yield make(2, width), (k,), {}


def _cat(make: _Maker) -> Iterator[Inputs]:
    yield [make(0, 5), make(3, 5), make(1, 5)], (0,), {}
    yield [make(2, 7), make(2, 129)], (1,), {}


def _attention(make: _Maker) -> Iterator[Inputs]:
    for queries, keys in ((1, 1), (1, 129), (7, 7), (33, 65)):
        q, k, v = (make(2, 2, count, 16) for count in (queries, keys, keys))
        yield q, (k, v), {"is_causal": queries == keys}


def _cross_entropy(make: _Maker) -> Iterator[Inputs]:
    for rows, classes in ((1, 1), (7, 129), (3, 1027)):
        yield make(rows, classes), (make.whole((rows,), classes),), {}
    yield make(4, 9, scale=1000.0), (make.whole((4,), 9),), {}


def _conv2d(make: _Maker) -> Iterator[Inputs]:
    for batch, channels, size, kernel in ((1, 1, 1, 1), (2, 3, 7, 3), (1, 5, 17, 5), (0, 2, 5, 3)):
        yield make(batch, channels, size, size), (make(4, channels, kernel, kernel),), {}


def _conv1d(make: _Maker) -> Iterator[Inputs]:
    for batch, channels, size, kernel in ((1, 1, 1, 1), (2, 3, 129, 3), (0, 2, 5, 3)):
        yield make(batch, channels, size), (make(4, channels, kernel),), {}


def _copies(make: _Maker) -> Iterator[Inputs]:
    for shape in SHAPES:
        yield make(*shape), (), {}


_NAMED: Dict[str, Callable[[_Maker], Iterator[Inputs]]] = {
    "bmm": _batches,
    "cat": _cat,
    "clone": _copies,
    "contiguous": _copies,
    "cumprod": _cumulative,
    "cumsum": _cumulative,
    "gather": _gather,
    "index_select": _index_select,
    "log_softmax": _rows,
    "logsumexp": _rows,
    "masked_fill": _masked_fill,
    "matmul": _matrices,
    "mean": _reduction,
    "mm": _matrices,
    "nn.functional.conv1d": _conv1d,
    "nn.functional.conv2d": _conv2d,
    "nn.functional.cross_entropy": _cross_entropy,
    "nn.functional.embedding": _embedding,
    "nn.functional.gelu": _gelu,
    "nn.functional.layer_norm": _layer_norm,
    "nn.functional.linear": _linear,
    "nn.functional.rms_norm": _rms_norm,
    "nn.functional.scaled_dot_product_attention": _attention,
    "scatter_add": _scatter_add,
    "softmax": _rows,
    "sort": _sorted,
    "sum": _reduction,
    "topk": _topk,
}


def edge_operators() -> List[str]:
    """Operators with edge inputs of their own, beside all unary, binary and reducing ones."""
    return sorted(_NAMED)
