"""Numbers as people read them: every figure with its unit, no more digits than it deserves."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ciwm.records import SeriesVerdict

_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_BYTES = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0))
_TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_DIGITS = re.compile(r"[0-9]+|[^0-9]+")
_KEYED = 300  # characters of a name that its place depends on
_FOLD = 10.0  # beyond ten times, a factor reads better than a percentage


def plural(number: int, noun: str, many: str = "") -> str:
    """A count with its noun: `1 file`, `2 files`, `1,204 launches`, `3 series`."""
    if number == 1 or noun.endswith("series"):
        return f"{number:,} {noun}"
    if many:
        return f"{number:,} {many}"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts names as people count: batch=2 before batch=16."""
    parts = _DIGITS.findall(name[:_KEYED])
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def change(ratio: float) -> str:
    """A ratio head/base as a signed percentage (`+12.4%`), or a factor when it is large."""
    if ratio >= _FOLD or ratio <= 1 / _FOLD:
        return f"×{ratio:.3g}"
    percent = 100 * (ratio - 1)
    return f"{percent:+.1f}%".replace("-", "\N{MINUS SIGN}")


def quantity(value: float, unit: str) -> str:
    """A measured value with its unit; times and bytes in the unit that reads best."""
    if unit in _TIME_UNITS:
        return _scaled(value * _TIME_UNITS[unit], _TIMES)
    if unit in ("bytes", "byte", "B"):
        return _scaled(value, _BYTES)
    return f"{_digits(value)} {unit}".rstrip()


def rate(value: float, unit: str) -> str:
    """A rate with the prefix that reads best: `716 Top/s`, `4.81 TB/s`; other units as they are."""
    if not unit.endswith("/s"):
        return quantity(value, unit)
    size, prefix = next((one for one in _PREFIXES if value >= one[0]), (1.0, ""))
    return f"{value / size:.3g} {prefix}{unit}"


def duration(seconds: float) -> str:
    """A duration as `0.4 s`, `12 s`, `5 min 13 s`, `1 h 30 min`."""
    if seconds < 9.95:  # noqa: PLR2004  one decimal below ten seconds
        return f"{seconds:.1f} s"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def harm(row: SeriesVerdict) -> float:
    """How many times worse head is than base, by the metric's direction; 0 when not measured.

    Where differences count, as if the threshold in percent stood for the one in the unit.
    """
    if row.difference is not None and row.threshold_abs is not None:
        worse = row.difference if row.better == "lower" else -row.difference
        return 1 + worse / row.threshold_abs * row.threshold_pct / 100
    if row.ratio is None or row.ratio <= 0:
        return 0.0
    return row.ratio if row.better == "lower" else 1 / row.ratio


def _scaled(value: float, scales: tuple[tuple[str, float], ...]) -> str:
    for unit, size in scales:
        if abs(value) >= size:
            return f"{_digits(value / size)} {unit}"
    unit, size = scales[0] if value == 0 else scales[-1]
    return f"{_digits(value / size)} {unit}"


def _digits(value: float) -> str:
    """Four significant digits, thousands separated, no trailing zeros and no exponent if short."""
    if value == 0 or not 1e-4 <= abs(value) < 1e15:  # noqa: PLR2004  plain digits stay short
        return f"{value:.4g}"
    decimals = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
