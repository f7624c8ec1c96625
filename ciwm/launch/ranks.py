"""The ranks of one launch: each one's journal, and what they say together."""

from __future__ import annotations

import math
import re
import signal
from statistics import fmean
from typing import TYPE_CHECKING

from ciwm.launch.collectives import size_bytes
from ciwm.launch.exits import log_tail
from ciwm.launch.journal import Journal, read_journal
from ciwm.launch.series import LOAD_IMBALANCE, SECONDS_IN, STEP_TIME, cases, made_of_times
from ciwm.launch.worker_job import JOURNAL, time_unit
from ciwm.records.ranks import RankSamples
from ciwm.records.samples import Samples
from ciwm.stats.collectives import algbw_gb_s, busbw_gb_s, imbalance_pct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ciwm.config import MetricConfig, Scalar, WorkloadConfig

# torchrun's table of the ranks that ended badly by themselves, in its log
_DEAD = re.compile(r"rank\s*:\s*(\d+) \(local_rank: \d+\)\s+exitcode\s*:\s*(-?\d+)")


def read_journals(folder: Path, ranks: int) -> tuple[Journal, ...]:
    """The journal of each rank of a launch, empty for one that wrote none."""
    return tuple(read_journal(folder / name) for name in journal_names(ranks))


def journal_names(ranks: int) -> list[str]:
    """Where each rank of a launch writes, in the launch's folder."""
    stem, _, end = JOURNAL.rpartition(".")
    return [JOURNAL, *(f"{stem}.{rank}.{end}" for rank in range(1, ranks))]


def rank_samples(journals: Sequence[Journal]) -> tuple[RankSamples, ...]:
    """Each rank's own samples; none where a process measured alone."""
    if len(journals) == 1:
        return ()
    return tuple(
        RankSamples(rank=rank, host=journal.host, samples=journal.samples)
        for rank, journal in enumerate(journals)
    )


def joined(journals: Sequence[Journal], workload: WorkloadConfig, log: Path) -> Journal:
    """What the ranks say together.

    An iteration is one step of all ranks: its time is the slowest's. The error is that of the rank
    that failed first; the others fail because of it.
    """
    first = journals[0]
    if len(journals) == 1:
        return first
    own = [journal.own_files for journal in journals if journal.own_files is not None]
    whole = Journal(
        host=first.host,
        interpreter=first.interpreter,
        torch=first.torch,
        torch_build=first.torch_build,
        warmup_iterations=first.warmup_iterations,
        clocks=first.clocks,
        calls=first.calls,
        batches=first.batches,
        unsteady=list(dict.fromkeys(one for each in journals for one in each.unsteady)),
        windows=first.windows,
        own_files=min(own) if len(own) == len(journals) else None,
        error=_first_error(journals),
        death=_death(journals, log),
        ended=all(journal.ended for journal in journals),
        unreadable=sum(journal.unreadable for journal in journals),
    )
    for samples in _together(journals, workload):
        whole.put(samples)
    return whole


def _first_error(journals: Sequence[Journal]) -> tuple[str, str] | None:
    """What the rank said that failed first."""
    failed = [(one.failed_at or 0.0, rank) for rank, one in enumerate(journals) if one.error]
    if not failed:
        lengths = {tuple(len(one.values) for one in each.samples) for each in journals}
        if len(lengths) > 1 and all(journal.ended for journal in journals):
            return "invalid", "the ranks' journals hold different numbers of iterations"
        return None
    _, rank = min(failed)
    reason, message = journals[rank].error or ("failed", "")
    return reason, f"rank {rank}: {message}"


def _death(journals: Sequence[Journal], log: Path) -> tuple[int, int] | None:
    """The first rank that torchrun saw end badly and that had no word in its journal, and how.

    The others fail because of it, and do have words, or are ended by torchrun (SIGTERM).
    """
    for number, status in _DEAD.findall(log_tail(log)):
        rank = int(number)
        silent = rank < len(journals) and not journals[rank].ended and not journals[rank].error
        if silent and int(status) not in (0, -signal.SIGTERM):
            return rank, int(status)
    return None


def _together(journals: Sequence[Journal], workload: WorkloadConfig) -> Iterator[Samples]:
    """One value an iteration of all ranks, for each series and metric."""
    by_rank = [{(one.series, one.metric): one.values for one in each.samples} for each in journals]
    made, metrics = made_of_times(workload), workload.declared_metrics
    for case in cases(workload):
        for name, metric in metrics.items():
            is_made = name in made
            reduce = _made(workload, name, case.params) if is_made else _over(metric)
            key = (case.series, STEP_TIME if is_made else name)
            values = tuple(reduce(each) for each in _lists(by_rank, key))
            if values:
                yield Samples(series=case.series, metric=name, values=values)


def _lists(
    by_rank: Sequence[Mapping[tuple[str, str], Sequence[float]]], key: tuple[str, str]
) -> Iterator[tuple[float, ...]]:
    """The values of all ranks, iteration by iteration, as far as every rank came."""
    return zip(*(each.get(key, ()) for each in by_rank), strict=False)


def _over(metric: MetricConfig) -> Callable[[Sequence[float]], float]:
    """What makes one value of those of all ranks."""
    worst: Callable[[Sequence[float]], float] = max if metric.better == "lower" else min
    return {"worst": worst, "sum": math.fsum, "mean": fmean}[metric.over_ranks]


def _made(
    workload: WorkloadConfig, name: str, params: Mapping[str, Scalar]
) -> Callable[[Sequence[float]], float]:
    """What makes a metric of the times of all ranks."""
    if name == LOAD_IMBALANCE:
        return imbalance_pct
    in_second = SECONDS_IN[time_unit(workload)]
    size, op = size_bytes(workload, params), str(params["op"])
    if name == "algbw":
        return lambda times: algbw_gb_s(size, max(times) / in_second)
    return lambda times: busbw_gb_s(op, workload.ranks, size, max(times) / in_second)
