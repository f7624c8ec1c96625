"""What an earlier calibration of this machine knows of a plan's series: noise, and its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import ConfigError
from ciwm.policy.scale import limit, unit_of
from ciwm.policy.thresholds import ruled
from ciwm.policy.words import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ciwm.config import GateConfig
    from ciwm.records import Calibration, Plan, Series

FRESH_LAUNCHES = 8  # a side: fewer say too little of the noise to be a first guess


def latest(calibrations: Iterable[Calibration], fingerprint: str) -> Calibration | None:
    """The newest calibration of a machine; None when it has none."""
    own = [one for one in calibrations if one.environment.fingerprint == fingerprint]
    return max(own, key=lambda one: (one.at, one.id), default=None)


def informed(plan: Plan, gate: GateConfig, calibration: Calibration) -> Plan:
    """The plan with what is known of its series, written down before the first launch."""
    family = tuple(_informed(series, gate, calibration) for series in plan.family)
    return plan.model_copy(update={"family": family})


def _informed(series: Series, gate: GateConfig, calibration: Calibration) -> Series:
    judged = ruled(series, gate)
    for one in calibration.series:
        if one.describes(judged) and one.noise and one.launches >= FRESH_LAUNCHES:
            known = {"noise": one.noise, "detectable": one.detectable}
            return judged.model_copy(update=known)
    return series


def undetectable(plan: Plan, gate: GateConfig) -> Iterator[str]:
    """Thresholds below what this machine is known to detect, in words."""
    for planned in plan.family:
        series = ruled(planned, gate)
        threshold = series.threshold_abs or series.threshold_pct
        if series.detectable is not None and threshold < series.detectable:
            yield (
                f"{named(series)}: its threshold of {limit(series)} is below what this machine "
                f"detects ({series.detectable:.2g}{unit_of(series)}): a slowdown of just that size "
                "would hardly ever be proved"
            )


def refuse_undetectable(plan: Plan, gate: GateConfig) -> None:
    """Raise ConfigError for a threshold that cannot be served, where [gate] says so."""
    found = list(undetectable(plan, gate))
    if found and gate.on_undetectable == "refuse":
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise ConfigError(
            found[0] + more,
            "raise the threshold; ciwm bench --calibrate says what else would help",
        )
