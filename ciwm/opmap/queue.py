"""The order of kernels to write: always the step that unlocks a workload with fewest kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.records.opmap import QueuedKernel, QueueEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.opmap.seen import Fact
    from ciwm.records.opmap import Proof


@dataclass(frozen=True)
class Needs:
    """What each workload lacks, how often every operator is called, and what is known of it."""

    missing: Mapping[str, frozenset[str]]
    calls: Mapping[str, int]
    facts: Mapping[str, Fact]
    time_share_pct: Mapping[str, float]


@dataclass(frozen=True)
class Step:
    """New kernels, the workloads they unlock, and all kernels of the queue so far."""

    kernels: tuple[str, ...]
    unlocks: tuple[str, ...]
    so_far: frozenset[str]


def steps(needs: Needs) -> list[Step]:
    """The order of writing; a workload is unlocked when nothing it lacks is left.

    Of the kernel sets that complete some workload, the next is the one with the fewest new kernels;
    of equal ones that which unlocks most, then that whose kernels are called most.
    """
    have: set[str] = set()
    left = {name: set(ops) for name, ops in needs.missing.items()}
    found: list[Step] = []
    while left:
        options = [frozenset(ops - have) for ops in left.values()]
        best = min(set(options), key=lambda new: _cost(new, have, left, needs))
        unlocked = sorted(name for name, ops in left.items() if ops <= have | best)
        have |= best
        kernels = sorted(best, key=lambda op: (-_weight(op, needs), op))
        found.append(Step(tuple(kernels), tuple(unlocked), frozenset(have)))
        for name in unlocked:
            del left[name]
    return found


def _cost(
    new: frozenset[str], have: set[str], left: Mapping[str, set[str]], needs: Needs
) -> tuple[int, int, float, list[str]]:
    unlocked = sum(ops <= have | new for ops in left.values())
    weight = sum(_weight(op, needs) for op in new)
    return (len(new), -unlocked, -weight, sorted(new))


def _weight(op: str, needs: Needs) -> float:
    """The share of time where it was profiled, else the calls, below any share."""
    share = needs.time_share_pct.get(op)
    return share * 1e9 if share is not None else float(needs.calls.get(op, 0))


def entries(
    found: Sequence[Step], needs: Needs, proofs: Mapping[str, Proof]
) -> tuple[QueueEntry, ...]:
    """The steps as they are written down; `proofs` by workload."""
    return tuple(
        QueueEntry(
            order=number,
            kernels=tuple(_kernel(op, needs) for op in step.kernels),
            unlocks=step.unlocks,
            total_kernels=len(step.so_far),
            proofs=tuple(proofs[name] for name in step.unlocks if name in proofs),
        )
        for number, step in enumerate(found, 1)
    )


def _kernel(op: str, needs: Needs) -> QueuedKernel:
    fact = needs.facts.get(op)
    return QueuedKernel(
        op=op,
        calls=needs.calls.get(op, 0),
        time_share_pct=needs.time_share_pct.get(op),
        has_decomposition=bool(fact and fact.decomposition),
        has_meta=bool(fact and fact.meta),
    )
