"""What cards and machine did during a run that makes no launch void, and is worth a line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.records import Launch

STEAL_PCT = 2.0  # of all CPU time, on average over a launch
OTHER_CPUS = 0.5
THROTTLED_SHARE = 0.01  # of a launch's time in which our CPU quota held somebody back


def remarks(launches: Sequence[Launch]) -> tuple[str, ...]:
    """One line each: telemetry that is missing, errors of cards, and company on the CPUs."""
    return (*_unsteady(launches), *_missing(launches), *_errors(launches), *_company(launches))


def _unsteady(launches: Sequence[Launch]) -> Iterator[str]:
    for series, count in Counter(name for one in launches for name in one.unsteady).items():
        yield (
            f"{series}: its times still fell when the warm-up was over in "
            f"{_launches(count, launches)}: raise warmup_max_s"
        )


def _missing(launches: Sequence[Launch]) -> Iterator[str]:
    problems = Counter(one.telemetry_problem for one in launches if one.telemetry_problem)
    for problem, count in problems.most_common(3):
        yield f"telemetry of {_launches(count, launches)} is missing or cut short: {problem}"


def _errors(launches: Sequence[Launch]) -> Iterator[str]:
    xids: Counter[tuple[int, int]] = Counter()
    corrected: Counter[int] = Counter()
    for window in (window for one in launches for window in one.telemetry):
        xids.update((window.accelerator, xid) for xid in window.xids)
        corrected[window.accelerator] += window.ecc_corrected or 0
    for (card, xid), count in xids.items():
        yield f"accelerator {card}: XID {xid} during {_launches(count, launches)}"
    for card, count in corrected.items():
        if count:
            yield f"accelerator {card}: {count} memory errors corrected by ECC"


def _company(launches: Sequence[Launch]) -> Iterator[str]:
    hosts = [one.host for one in launches if one.host is not None]
    steal = [host.steal_mean_pct for host in hosts if (host.steal_mean_pct or 0) > STEAL_PCT]
    others = [host.other_cpus for host in hosts if (host.other_cpus or 0) > OTHER_CPUS]
    held = sum((h.throttled_s or 0) for h in hosts)
    if steal:
        yield (
            f"a hypervisor gave up to {max(filter(None, steal)):.0f} % of the CPU time to other "
            f"guests (steal) in {_launches(len(steal), launches)}"
        )
    if others:
        yield (
            f"other processes kept up to {max(filter(None, others)):.1f} CPUs busy in "
            f"{_launches(len(others), launches)}"
        )
    if held > THROTTLED_SHARE * sum(one.duration_s for one in launches):
        yield f"the CPU quota of this container held processes back for {held:.1f} s in all"


def _launches(count: int, launches: Sequence[Launch]) -> str:
    return f"{count} of {len(launches)} launches"
