"""One number a launch: iterations inside a launch are never treated as independent."""

from __future__ import annotations

import re
from math import ceil, exp, floor, isfinite, log
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_LOG = 690.0  # of a ratio that a float still holds
TAIL = 0.05  # the share of a launch's iterations that is its tail
_TIMES = (
    *("s", "sec", "secs", "second", "seconds", "ms", "us", "µs", "μs", "ns", "min", "h", "hour"),
    *("msec", "msecs", "usec", "usecs", "nsec", "nsecs", "mins", "minute", "minutes", "hours"),
    *("millis", "millisecond", "milliseconds", "micros", "microsecond", "microseconds"),
    *("nanos", "nanosecond", "nanoseconds"),
)
_RATES = (
    *("hz", "khz", "mhz", "ghz", "fps", "qps", "rps", "tps", "flops", "gflops", "tflops"),
    *("mbps", "gbps"),
)


def quantile(values: Sequence[float], probability: float) -> float:
    """The quantile of a launch's iterations, interpolated linearly; raises ValueError if empty."""
    if not values:
        raise ValueError("no values, no quantile")
    ordered = sorted(values)
    place = probability * (len(ordered) - 1)
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    gap = ordered[above] - ordered[below]
    if not isfinite(gap):  # of two huge values of opposite signs: weigh them instead
        return ordered[below] * (above - place) + ordered[above] * (place - below)
    return ordered[below] + gap * (place - below)


def slowest(values: Sequence[float], better: str) -> float:
    """The geometric mean of the worst 5 % of a launch's iterations; raises ValueError at zero.

    Steadier than a P99: of sixty iterations, less than one lies beyond that.
    """
    ordered = sorted(values, reverse=better == "higher")
    worst = ordered[min(ceil((1 - TAIL) * len(ordered)), len(ordered) - 1) :]
    return exp(fmean(map(log, worst)))


def worse_log(value: float, better: str) -> float:
    """The log of a value above zero, turned so that more is worse; raises ValueError at zero."""
    return log(value) if better == "lower" else -log(value)


def as_ratio(change: float, better: str) -> float:
    """A difference of `worse_log`s as the ratio head/base as measured; held within 1e±300."""
    log_ratio = change if better == "lower" else -change
    return exp(max(-LARGEST_LOG, min(log_ratio, LARGEST_LOG)))


def read_from_a_clock(unit: str) -> bool:
    """Whether a unit is a time or a rate: never without noise, even if launches agree."""
    words = re.split(r"[^a-zµμ]+", unit.lower())
    return not {*_TIMES, *_RATES}.isdisjoint(words)
