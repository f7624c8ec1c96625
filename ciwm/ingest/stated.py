"""What the user states of metrics: unit and direction a format lacks, and what to leave out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import isfinite
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.ingest.units import canonical, factor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ciwm.config import MetricConfig
    from ciwm.ingest.measured import Measured

_NAMED = 5


@dataclass(frozen=True)
class Stated:
    """Metrics by name or glob: None takes an extra metric as its format has it."""

    metrics: Mapping[str, MetricConfig | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()

    def of(self, metric: str) -> tuple[bool, MetricConfig | None]:
        """Whether a metric is named, and what is stated of it; its own name before a glob."""
        if metric in self.metrics:
            return True, self.metrics[metric]
        for pattern, stated in self.metrics.items():
            if fnmatchcase(metric, pattern):
                return True, stated
        return False, None

    def ignores(self, metric: str) -> bool:
        """Whether a metric is to be left out."""
        return any(metric == name or fnmatchcase(metric, name) for name in self.ignore)


def settled(measured: Iterable[Measured], stated: Stated, source: str) -> tuple[Measured, ...]:
    """What is to be judged, with unit and direction; raises UsageError where one is not known."""
    found = tuple(_settled(measured, stated, source))
    unknown = sorted({one.metric for one in found if one.better is None})
    if unknown:
        names = ", ".join(unknown[:_NAMED])
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        raise UsageError(
            f"{source}: whether more or less of {names}{more} is better is not known",
            f"state unit and direction: --metric {unknown[0]}=UNIT,higher (or lower), or "
            f"[ingest] metrics in ciwm.toml; or leave it out: --ignore {unknown[0]}",
        )
    return found


def _settled(measured: Iterable[Measured], stated: Stated, source: str) -> Iterator[Measured]:
    for one in measured:
        if stated.ignores(one.metric):
            continue
        named, config = stated.of(one.metric)
        if one.extra and not named:
            continue
        yield _in_canonical_unit(one, source) if config is None else as_stated(one, config, source)


def as_stated(one: Measured, config: MetricConfig, source: str) -> Measured:
    """The metric in the unit that the user states.

    Raises UsageError for a unit of another kind, and for a direction that the format contradicts.
    """
    if one.better is not None and one.better != config.better:
        raise UsageError(
            f"{source}: {one.metric}: {config.better} is stated to be better, and by its format "
            f"{one.better} is",
            "state what the format says, or leave the metric out",
        )
    times = factor(one.unit, config.unit) if one.unit else 1.0
    if times is None:
        raise UsageError(
            f"{source}: {one.metric} is in {one.unit}, which cannot be told in {config.unit}",
            f"state its unit: {one.unit}",
        )
    return replace(_scaled(one, times, source), unit=config.unit, better=config.better)


def _in_canonical_unit(one: Measured, source: str) -> Measured:
    unit, times = canonical(one.unit)
    return replace(_scaled(one, times, source), unit=unit)


def _scaled(one: Measured, times: float, source: str) -> Measured:
    launches = tuple(tuple(value * times for value in launch) for launch in one.launches)
    if not all(isfinite(value) for launch in launches for value in launch):
        name = f"{one.series} {one.metric}".strip()
        raise UsageError(f"{source}: {name} has a value that is no finite number")
    return replace(one, launches=launches)
