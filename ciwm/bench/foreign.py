"""Files of results, each of one run of some tool, as runs that the gate can look at."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.bench.foreign_arm import foreign_arm
from ciwm.bench.samples_csv import read_samples
from ciwm.errors import UsageError
from ciwm.ingest import Stated, read_file, settled
from ciwm.records import Accelerator, Launch, Plan, Run, Samples, Series, read_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ciwm.config import Config, GateConfig, MetricConfig
    from ciwm.ingest import Measured, Reading
    from ciwm.records import Side

SAMPLES_CSV = "samples-csv"
_NAMED = 8


def stated_in(
    config: Config, first: Mapping[str, MetricConfig | None], ignore: Sequence[str]
) -> Stated:
    """What the command line states of metrics, else [ingest], else the workloads, if they agree."""
    declared: dict[str, set[MetricConfig]] = {}
    for workload in config.workload:
        for name, metric in workload.metrics.items():
            declared.setdefault(name, set()).add(metric)
    agreed = {name: found.pop() for name, found in declared.items() if len(found) == 1}
    metrics = {**first}
    for name, metric in (*config.ingest.metrics.items(), *agreed.items()):
        metrics.setdefault(name, metric)
    return Stated(metrics, (*ignore, *config.ingest.ignore))


@dataclass(frozen=True)
class Reader:
    """How files are to be read: the gate's numbers, the format if it is stated, and metrics.

    `seen` are the metrics of all files that were read, those that are left out among them.
    """

    gate: GateConfig
    format: str | None = None
    stated: Stated = field(default_factory=Stated)
    seen: set[str] = field(default_factory=set)

    def read(self, name: str, side: Side) -> Run:
        """A run record or its folder, samples as CSV, or the results of another tool, as a Run.

        Raises UsageError where it cannot be read.
        """
        path, part = parted(name)
        if not path.exists():
            raise UsageError(f"there is no {path}", "name a run, or what another tool wrote")
        if path.is_dir() and (path / "run.json").is_file():
            return read_record(path / "run.json", Run)
        if self.format is None and _is_run(path):
            return read_record(path, Run)
        if self.format == SAMPLES_CSV or (self.format is None and _is_samples_csv(path)):
            return read_samples(path, self.gate, in_blocks=False)
        reading = read_file(path, self.format, part)
        named = tuple(replace(one, series=one.series or reading.format) for one in reading.measured)
        return self._run(path, replace(reading, measured=named), side)

    def _run(self, path: Path, reading: Reading, side: Side) -> Run:
        self.seen.update(one.metric for one in reading.measured)
        found = settled(reading.measured, self.stated, str(path))
        if not found:
            raise UsageError(
                f"{path} holds nothing that is judged", "every metric in it is told to be ignored"
            )
        when = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
        launches = tuple(_launches(found, side, when))
        arm = foreign_arm(
            side,
            cpu_model=reading.cpu_model,
            cpu_count=reading.cpu_count,
            accelerators=_cards(reading.accelerators),
        )
        return Run(
            id=path.name,
            started_at=when,
            plan=self._plan(found),
            base=arm,
            head=arm,
            launches=launches,
            complete=True,
            stopped_because="the file holds no more",
        )

    def refuse_unseen(self, names: Iterable[str]) -> None:
        """Raise UsageError for a name or glob that no file has: what it was to judge would pass."""
        for name in names:
            if not any(metric == name or fnmatchcase(metric, name) for metric in self.seen):
                have = ", ".join(sorted(self.seen)[:_NAMED])
                raise UsageError(
                    f"--metric {name}: no file has a metric of this name",
                    f"there are: {have}" if have else "ciwm's own files state their metrics",
                )

    def _plan(self, found: Sequence[Measured]) -> Plan:
        family = tuple(self._series(one) for one in found)
        return Plan(
            seed=0,
            order="apart",
            max_launches=self.gate.max_launches,
            family=family,
            family_size=len(family),
            workloads=tuple(dict.fromkeys(series.workload for series in family)),
            workloads_from=foreign_arm("head").revision,
        )

    def _series(self, one: Measured) -> Series:
        stated = self.stated.of(one.metric)[1]
        return Series(
            series=one.series,
            metric=one.metric,
            workload=one.series,
            unit=one.unit,
            better=one.better or "lower",  # `settled` lets no unknown one through
            threshold_pct=(stated and stated.threshold_pct) or self.gate.threshold_pct,
            threshold_abs=stated.threshold_abs if stated is not None else None,
        )


def parted(name: str) -> tuple[Path, str]:
    """`FILE#PART` where FILE alone is there: what a format has several of in one place."""
    path, mark, part = name.rpartition("#")
    if mark and not Path(name).exists() and Path(path).exists():
        return Path(path), part
    return Path(name), ""


def _is_run(path: Path) -> bool:
    """Whether a file is a record of ours, whose first key says so (AIPerf's is a text)."""
    return re.match(rb'\s*\{\s*"schema_version":\s*\d', _head(path)) is not None


def _is_samples_csv(path: Path) -> bool:
    """Whether a file's first line names columns that only our samples have, in any order."""
    first = _head(path).removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    names = {name.strip() for name in first.decode("utf-8", "replace").split(",")}
    return {"series", "side", "launch", "iteration"} <= names


def _head(path: Path) -> bytes:
    """The first bytes of a file; of a folder, none."""
    if path.is_dir():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(200)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _launches(found: Sequence[Measured], side: Side, when: datetime) -> Iterator[Launch]:
    """A launch of each series for each process that the file tells apart."""
    by_series: dict[str, list[Measured]] = {}
    for one in found:
        by_series.setdefault(one.series, []).append(one)
    number = 0
    for series, metrics in by_series.items():
        failure = next((one.failure for one in metrics if one.failure), "")
        count = max([len(one.launches) for one in metrics] + [1 if failure else 0])
        for i in range(count):
            yield Launch(
                number=number,
                workload=series,
                side=side,
                block=0,
                position=number,
                started_at=when,
                duration_s=0,
                exit="failed" if failure else "ok",
                detail=failure,
                samples=tuple(_samples(one, i) for one in metrics if i < len(one.launches)),
            )
            number += 1


def _samples(one: Measured, i: int) -> Samples:
    return Samples(
        series=one.series, metric=one.metric, values=one.launches[i], aggregate=one.aggregate
    )


def _cards(names: Sequence[str]) -> tuple[Accelerator, ...]:
    return tuple(
        Accelerator(index=i, vendor="not stated", name=name) for i, name in enumerate(names)
    )
