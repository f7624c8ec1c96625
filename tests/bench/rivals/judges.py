"""Each rival's own decision on the same launches, by its own package's code.

A judge takes the launches of base and head (seconds of each iteration), as many as the rival is
meant to have, and says whether it holds head to be slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Launches = Sequence[Sequence[float]]
    Judge = Callable[[Launches, Launches], bool]

SERIES = 5  # workloads in a run: the family, where a rival corrects for one


@dataclass(frozen=True)
class Rival:
    """A tool as it is meant to be used: its rule, and how many launches a side it gets."""

    name: str
    launches: int
    judge: Judge


def benchmatrix(threshold_pct: float) -> Judge:
    """Paired BCa bootstrap of the ratio of medians, 95 % over the family."""

    def judge(base: Launches, head: Launches) -> bool:
        from benchmatrix.bench_statistics import bootstrap_paired_median_ratio_interval

        found = bootstrap_paired_median_ratio_interval(
            [median(launch) for launch in base],
            [median(launch) for launch in head],
            lower_is_better=True,
            confidence_level=1 - 0.05 / SERIES,
            resamples=20_000,
            random_seed=1,
        )
        return found.adequate and found.high is not None and found.high < -threshold_pct

    return judge


def nvbench(base: Launches, head: Launches) -> bool:
    """nvbench-compare-robust on one launch's samples, its default thresholds."""
    from cuda.bench.scripts import nvbench_compare_robust as tool

    tool.load_nvbench_compare_tooling(load_color=False)

    def timing(values: Sequence[float]) -> Any:
        low, middle, high = (float(x) for x in np.percentile(values, [25, 50, 75]))
        mean, deviation = fmean(values), pstdev(values)
        return tool.GpuTimingData(
            minimum=min(values),
            maximum=max(values),
            mean=mean,
            stdev=deviation,
            stdev_relative=deviation / mean,
            first_quartile=low,
            median=middle,
            third_quartile=high,
            interquartile_range=high - low,
            interquartile_range_relative=(high - low) / middle,
        )

    found = tool.compare_gpu_timings(timing(base[0]), timing(head[0]))
    return bool(found.status == tool.ComparisonStatus.SLOW)


def asv(factor: float) -> Judge:
    """`asv compare --factor`: Mann-Whitney U at 0.2 %, and a ratio of medians."""

    def judge(base: Launches, head: Launches) -> bool:
        from asv.commands.compare import _is_result_better
        from asv_runner.statistics import compute_stats

        samples = [[x for launch in side for x in launch] for side in (base, head)]
        (one, first), (other, second) = (compute_stats(values, 1) for values in samples)
        return bool(
            _is_result_better(one, other, (first, samples[0]), (second, samples[1]), factor)
        )

    return judge


def google(base: Launches, head: Launches) -> bool:
    """Google Benchmark's compare.py: U test at 5 % on nine repetitions of one process."""
    from gbench.report import calc_utest

    repetitions = [[fmean(part) for part in np.array_split(side[0], 9)] for side in (base, head)]
    _, _, found = calc_utest(repetitions, repetitions)
    return bool(found < 0.05) and median(repetitions[1]) > median(repetitions[0])


def pyperf(least_pct: float) -> Judge:
    """`pyperf compare_to --min-speed`: Student's t at 5 % on three values of every process."""

    def judge(base: Launches, head: Launches) -> bool:
        from pyperf._utils import is_significant

        values = [
            [fmean(part) for launch in side for part in np.array_split(launch, 3)]
            for side in (base, head)
        ]
        ratio = fmean(values[1]) / fmean(values[0])
        return bool(is_significant(*values)[0]) and ratio > 1 + least_pct / 100

    return judge


def pytest_benchmark(rule: str) -> Judge:
    """`--benchmark-compare-fail`, one launch."""

    def judge(base: Launches, head: Launches) -> bool:
        from pytest_benchmark.utils import parse_compare_fail

        stats = [
            {"min": min(side[0]), "mean": fmean(side[0]), "median": median(side[0])}
            for side in (base, head)
        ]
        return bool(parse_compare_fail(rule).compute(stats[1], stats[0]) > parse_percent(rule))

    return judge


def parse_percent(rule: str) -> float:
    """The percentage of a rule such as min:5%."""
    return float(rule.partition(":")[2].rstrip("%"))


def otava(points: int) -> Judge:
    """Otava over a history of base's launches and so many of head's, one a commit."""

    def judge(base: Launches, head: Launches) -> bool:
        from otava.series import AnalysisOptions, Metric, Series

        values = [median(launch) for launch in (*base, *head[:points])]
        series = Series("t", None, list(range(len(values))), {"m": Metric(-1)}, {"m": values}, {})
        options = AnalysisOptions()
        options.min_magnitude = 0.03
        found = series.analyze(options).change_points["m"]
        return any(p.index >= len(base) and p.mean_after() > p.mean_before() for p in found)

    return judge


def ratio(threshold: float) -> Judge:
    """github-action-benchmark and its like: the ratio of two means."""
    return lambda base, head: fmean(head[0]) / fmean(base[0]) > threshold


RIVALS = (
    Rival("benchmatrix, 5 % (default)", 8, benchmatrix(5)),
    Rival("benchmatrix, 3 %", 16, benchmatrix(3)),
    Rival("nvbench-compare-robust", 1, nvbench),
    Rival("asv, factor 1.1 (default)", 2, asv(1.1)),
    Rival("asv, factor 1.03", 10, asv(1.03)),
    Rival("Google Benchmark compare", 1, google),
    Rival("pyperf", 16, pyperf(0)),
    Rival("pyperf, --min-speed 3", 16, pyperf(3)),
    Rival("pytest-benchmark, min:5%", 1, pytest_benchmark("min:5%")),
    Rival("pytest-benchmark, median:3%", 1, pytest_benchmark("median:3%")),
    Rival("Otava, first run of head", 16, otava(1)),
    Rival("Otava, five runs of head", 16, otava(5)),
    Rival("ratio of means 1.05", 1, ratio(1.05)),
)
