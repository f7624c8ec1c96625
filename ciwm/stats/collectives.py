"""Bandwidths of collectives by nccl-tests' definitions, and how evenly ranks are loaded.

https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md: the algorithm bandwidth is
size over time; the bus bandwidth is that times a factor which makes it comparable with what a link
can do, whatever the number of ranks.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GB = 1e9


def bus_factor(operation: str, ranks: int) -> float:
    """Bus bandwidth over algorithm bandwidth; raises KeyError for an unknown operation."""
    share = (ranks - 1) / ranks
    return {
        "all_reduce": 2 * share,
        "all_gather": share,
        "reduce_scatter": share,
        "all_to_all": share,
        "broadcast": 1.0,
        "send_recv": 1.0,
    }[operation]


def algbw_gb_s(size_bytes: int, time_s: float) -> float:
    """Size over time, in GB (1e9 bytes) a second; the time is that of the slowest rank."""
    return size_bytes / time_s / GB


def busbw_gb_s(operation: str, ranks: int, size_bytes: int, time_s: float) -> float:
    """The bus bandwidth in GB (1e9 bytes) a second."""
    return algbw_gb_s(size_bytes, time_s) * bus_factor(operation, ranks)


def imbalance_pct(times: Sequence[float]) -> float:
    """How much longer the slowest rank took than ranks on average: (max/mean - 1) in percent."""
    return (max(times) / fmean(times) - 1) * 100


def efficiency(kind: str, reference: tuple[int, float], scaled: tuple[int, float]) -> float:
    """Scaling efficiency from (ranks, time) of the reference and of more ranks.

    Strong, the same problem: T n / (T' n'). Weak, a problem that grows with the ranks: T / T'.
    """
    (few, before), (many, after) = reference, scaled
    return before * few / (after * many) if kind == "strong" else before / after
