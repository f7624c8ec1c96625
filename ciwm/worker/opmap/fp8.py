"""float8 by hand: PyTorch's operator descriptions have next to nothing for it.

The reference owes nothing to PyTorch's casts: the 256 codes of each format are decoded here by the
definition of its bits, and rounding is to the nearest of them, an even code at a tie.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from .judge import Judged, judge


class Format(NamedTuple):
    """Bits of exponent and mantissa, the bias, and whether the top exponent means infinity."""

    exponent: int
    mantissa: int
    bias: int
    has_infinity: bool


FORMATS: Dict[str, Format] = {
    "float8_e4m3fn": Format(4, 3, 7, has_infinity=False),
    "float8_e5m2": Format(5, 2, 15, has_infinity=True),
}


def decoded(code: int, form: Format) -> float:
    """The number a code stands for: sign, exponent, mantissa, subnormals, NaN and infinity."""
    sign = -1.0 if code >> 7 else 1.0
    exponent = (code >> form.mantissa) & ((1 << form.exponent) - 1)
    mantissa = code & ((1 << form.mantissa) - 1)
    top = (1 << form.exponent) - 1
    full = (1 << form.mantissa) - 1
    if form.has_infinity and exponent == top:
        return sign * math.inf if mantissa == 0 else math.nan
    if not form.has_infinity and exponent == top and mantissa == full:
        return math.nan
    fraction = mantissa / (1 << form.mantissa)
    if exponent == 0:
        return float(sign * fraction * 2.0 ** (1 - form.bias))
    return float(sign * (1 + fraction) * 2.0 ** (exponent - form.bias))


def rounded(value: float, form: Format) -> int:
    """The code nearest to a number within the format's range, the even one at a tie."""
    codes = [code for code in range(128) if math.isfinite(decoded(code, form))]
    best = min(codes, key=lambda code: (abs(decoded(code, form) - abs(value)), code & 1))
    return best | (0x80 if math.copysign(1.0, value) < 0 else 0)


def cases(dtype_name: str) -> List[Tuple[str, Callable[[str], Judged]]]:
    """What is checked of a float8 format, by name; each is given the device."""
    form = FORMATS[dtype_name]
    return [
        ("cast to float32", lambda device: _decode(dtype_name, form, device)),
        ("cast from float32", lambda device: _encode(dtype_name, form, device)),
        *[(name, _moving(dtype_name, made)) for name, made in _MOVES.items()],
        ("_scaled_mm", lambda device: _scaled_mm(dtype_name, device)),
    ]


def _codes(dtype_name: str, codes: Sequence[int], device: str) -> Any:
    import torch

    plain = torch.tensor(list(codes), dtype=torch.uint8)
    return plain.view(getattr(torch, dtype_name)).to(device)


def _decode(dtype_name: str, form: Format, device: str) -> Judged:
    import torch

    made = _codes(dtype_name, range(256), device).to(torch.float32).cpu()
    exact = torch.tensor([decoded(code, form) for code in range(256)], dtype=torch.float32)
    return judge(made, exact, exact.double())


def _encode(dtype_name: str, form: Format, device: str) -> Judged:
    """Random numbers, all ties between neighbours, and zeros, within the format's range."""
    import torch

    finite = sorted(
        {decoded(code, form) for code in range(128) if math.isfinite(decoded(code, form))}
    )
    ties = [(low + high) / 2 for low, high in zip(finite, finite[1:])]  # noqa: RUF007  Python 3.9
    generator = torch.Generator().manual_seed(5)
    spread = (torch.rand(200, generator=generator) * 2 - 1) * 200
    values = [*ties, *(-tie for tie in ties), 0.0, -0.0, *spread.tolist()]
    wanted = torch.tensor([rounded(value, form) for value in values], dtype=torch.uint8)
    source = torch.tensor(values, dtype=torch.float32).to(device)
    made = source.to(getattr(torch, dtype_name)).cpu().view(torch.uint8)
    return judge(made, wanted, wanted)


_MOVES: Dict[str, Callable[[Any], Any]] = {
    "clone": lambda x: x.clone(),
    "cat": lambda x: __import__("torch").cat([x, x]),
    "index_select": lambda x: x.index_select(0, __import__("torch").tensor([3, 0, 3]).to(x.device)),
    "transpose and copy": lambda x: x.t().contiguous(),
    "empty slice": lambda x: x[:0].clone(),
}


def _moving(dtype_name: str, move: Callable[[Any], Any]) -> Callable[[str], Judged]:
    """A case that only moves bytes: the same on uint8 is the reference."""

    def check(device: str) -> Judged:
        import torch

        codes = [code % 120 for code in range(7 * 17)]
        made = move(_codes(dtype_name, codes, device).reshape(7, 17)).cpu().view(torch.uint8)
        wanted = move(torch.tensor(codes, dtype=torch.uint8).reshape(7, 17))
        return judge(made, wanted, wanted)

    return check


def _scaled_mm(dtype_name: str, device: str) -> Judged:
    """A scaled product of e4m3 by the format, against float64 of the decoded numbers."""
    import torch

    other = "float8_e4m3fn"
    left = [(7 * i) % 113 for i in range(32 * 64)]
    right = [(11 * i) % 113 for i in range(16 * 64)]
    a = _codes(dtype_name, left, device).reshape(32, 64)
    b = _codes(other, right, device).reshape(16, 64).t()  # the second matrix lies by columns
    scales = torch.tensor(0.5).to(device), torch.tensor(0.25).to(device)
    made = torch._scaled_mm(a, b, *scales, out_dtype=torch.bfloat16).cpu()  # noqa: SLF001  its name
    exact = 0.125 * (_decoded(left, dtype_name, 32) @ _decoded(right, other, 16).t())
    return judge(made, exact.to(torch.bfloat16), exact)


def _decoded(codes: Sequence[int], dtype_name: str, rows: int) -> Any:
    import torch

    values = [decoded(code, FORMATS[dtype_name]) for code in codes]
    return torch.tensor(values, dtype=torch.float64).reshape(rows, -1)
