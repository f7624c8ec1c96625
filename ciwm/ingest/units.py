"""Units of one kind, so that ms of one file and us of another are the same quantity."""

from __future__ import annotations

_SECONDS = {
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
    "min": 60.0,
}
_BYTES = {
    "B": 1.0,
    "byte": 1.0,
    "bytes": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
_BYTES_PER_S = {f"{name}/s": factor for name, factor in _BYTES.items()}
_RATES = {f"{name}/{per}": 1.0 for name in ("requests", "tokens") for per in ("s", "sec")}
_KINDS = (("s", _SECONDS), ("B", _BYTES), ("B/s", _BYTES_PER_S))


def canonical(unit: str) -> tuple[str, float]:
    """The unit that ciwm has for this kind of quantity, and what one of `unit` is in it."""
    for name, factors in _KINDS:
        if unit in factors:
            return name, factors[unit]
    if unit in _RATES:
        return unit.partition("/")[0] + "/s", 1.0
    return unit, 1.0


def factor(unit: str, wanted: str) -> float | None:
    """What to multiply a value in `unit` by to have it in `wanted`; None where they are no kin."""
    (kind, here), (other, there) = canonical(unit), canonical(wanted)
    return here / there if kind == other else None
