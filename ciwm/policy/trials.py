"""The trials of a plan: each series by its threshold, its share of alpha, and what is known of it.

Where slowest iterations may block too, P50s spend four fifths of alpha and these the last fifth.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.policy.thresholds import ruled, tail_threshold_pct
from ciwm.policy.trial import Trial
from ciwm.stats.gate import KNOWN_FREEDOM, LEAST_NOISE, PRIOR_FREEDOM, Gate
from ciwm.stats.launches import read_from_a_clock

if TYPE_CHECKING:
    from ciwm.config import GateConfig
    from ciwm.policy.trial import Measured
    from ciwm.records import Launch, Plan, Series

TAIL_ALPHA = 0.2  # of alpha, where tails are gated
TAIL_NOISE = 0.05  # first guess of the launch sd of a tail
NOISE_SHARE = 3  # the threshold over the first guess of the noise: 3 % and 1 %


def new_trial(planned: Series, plan: Plan, config: GateConfig) -> Trial:
    """A trial by the plan's budget and family and the configuration's thresholds and alpha."""
    series = ruled(planned, config)
    tail_pct = tail_threshold_pct(series, config)
    of_tail = series.model_copy(update={"threshold_pct": tail_pct, "threshold_abs": None})
    try:
        middle = _gate(series, plan, config.family_alpha * (1 - TAIL_ALPHA * config.gate_p99))
        slowest = Gate(
            tests=family_size(plan),
            threshold=tail_pct / 100,
            alpha=config.family_alpha * (TAIL_ALPHA if config.gate_p99 else 1),
            max_launches=plan.max_launches,
            noise=TAIL_NOISE,
        )
    except ValueError as error:
        raise UsageError(f"the plan cannot be judged: {error}") from error
    return Trial(
        series,
        middle,
        tail=Trial(of_tail, slowest, of_slowest=True, single=False),
        tail_wanted=config.gate_p99,
        prove_improvement=config.prove_improvement,
    )


def _gate(series: Series, plan: Plan, alpha: float) -> Gate:
    absolute = series.threshold_abs is not None
    threshold = series.threshold_abs or series.threshold_pct / 100
    noise, freedom = threshold / NOISE_SHARE if absolute else Gate.noise, PRIOR_FREEDOM
    if series.noise is not None:
        noise, freedom = max(series.noise, threshold / LEAST_NOISE), KNOWN_FREEDOM
    return Gate(
        tests=family_size(plan),
        threshold=threshold,
        alpha=alpha,
        max_launches=plan.max_launches,
        noise=noise,
        freedom=freedom,
        exact=not read_from_a_clock(series.unit),
        absolute=absolute,
    )


def family_size(plan: Plan) -> int:
    """The number of series gated in the run, of which a shard holds only some."""
    return max(plan.family_size, len(plan.family), 1)


def measured(launch: Launch) -> Measured:
    """What a launch says of each series; nothing of one that is empty or there twice."""
    keys = [(samples.series, samples.metric) for samples in launch.samples]
    counts = Counter(keys)
    return {
        key: samples.values
        for key, samples in zip(keys, launch.samples, strict=True)
        if samples.values and counts[key] == 1
    }
