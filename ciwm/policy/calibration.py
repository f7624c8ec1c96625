"""From a run of one revision against itself to what a gate can detect on this machine."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from ciwm.policy.blocks import blocks
from ciwm.policy.conditions import counted
from ciwm.policy.decision import decide
from ciwm.policy.trials import family_size
from ciwm.policy.watch import Watch
from ciwm.policy.ways_out import Spread, ways_out
from ciwm.records.calibration import Calibration, SeriesCalibration
from ciwm.stats.detectable import Bench, blocked, detectable, residuals
from ciwm.stats.launches import worse_log
from ciwm.stats.spread import clipped_sd, within_variance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import datetime

    from ciwm.config import GateConfig
    from ciwm.policy.trial import Trial
    from ciwm.records import Launch, Run, SeriesVerdict


def calibrate(
    run: Run, config: GateConfig, at: datetime, say: Callable[[str], None]
) -> Calibration:
    """What a run of one revision against itself says of every series; seconds of work for each."""
    watch = Watch(run.plan, config)
    for block in blocks(run.launches):
        watch.add(block)
    verdict = decide(run, config)
    judged = {(one.series, one.metric): one for one in verdict.series}
    found, launches = [], counted(run.launches, config.void)
    for trial in watch.trials:
        say(f"{trial.series.series} {trial.series.metric}: what can be detected")
        iterations = list(_iterations(trial, launches))
        found.append(_series(trial, judged[trial.series.key], run, iterations))
    return Calibration(
        id=run.id,
        at=at,
        revision=run.head.revision,
        environment=run.head.environment,
        family_size=family_size(run.plan),
        alpha=config.family_alpha,
        max_launches=run.plan.max_launches,
        complete=run.complete,
        stopped_because=run.stopped_because,
        series=tuple(found),
        problems=verdict.problems,
    )


def _series(
    trial: Trial, verdict: SeriesVerdict, run: Run, iterations: list[list[float]]
) -> SeriesCalibration:
    series = trial.series
    known = {
        "series": series.series,
        "metric": series.metric,
        "workload": series.workload,
        "unit": series.unit,
        "better": series.better,
        "threshold_pct": series.threshold_pct,
        "threshold_abs": series.threshold_abs,
        "launches": trial.launches,
        "iterations": trial.fewest or 0,
        "outcome": verdict.outcome,
        "alarm": verdict.outcome == "regressed",
        "reason": verdict.reason,
    }
    gate = trial.gate
    if not gate.base or not trial.comparable or gate.launch_sd == 0:
        return SeriesCalibration(**known)  # void, failed, or a count that never varies
    bench = _bench(trial, run)
    sd, within = gate.launch_sd, sqrt(within_variance(iterations))
    spread = Spread(sd=sd, within=min(within, sd))
    scale = 1.0 if gate.absolute else 100.0
    smallest, stopped = detectable(bench), blocked(bench, gate.threshold)
    return SeriesCalibration(
        **known,
        noise=bench.noise,
        within=spread.within,
        between=spread.between,
        detectable=None if smallest is None else scale * smallest,
        blocked=None if stopped is None else scale * stopped,
        ways_out=ways_out(trial, bench, spread, run),
    )


def _bench(trial: Trial, run: Run) -> Bench:
    gate = trial.gate
    return Bench(
        tests=gate.tests,
        alpha=gate.alpha,
        max_launches=run.plan.max_launches,
        noise=clipped_sd(gate.base, gate.head),
        absolute=gate.absolute,
        residuals=residuals(gate.base, gate.head),
        seed=run.plan.seed,
    )


def _iterations(trial: Trial, launches: Iterable[Launch]) -> Iterator[list[float]]:
    """Every launch's iterations, on the gate's scale; those that have no log are left out."""
    for launch in launches:
        for samples in launch.samples:
            if (samples.series, samples.metric) != trial.series.key:
                continue
            if trial.on_differences:
                yield list(samples.values)
            elif min(samples.values, default=0) > 0:
                yield [worse_log(value, trial.series.better) for value in samples.values]
