"""`command` workloads: the shell script of a launch, and the samples the command wrote.

The command is run by `sh -ec` in the folder of the workload files. `{out}` is the file it writes
its results to, `{build}` the side's build, `{python}` its interpreter, `{workloads}` that folder,
and `{name}` a parameter; each is filled in quoted. Its results are in the workload's `format`:
ciwm's own JSON (`ciwm.ingest.samples_json`), or that of another tool.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.ingest import as_stated, read_file
from ciwm.ingest.measured import NO_NAME
from ciwm.ingest.serving import FAILED_REQUESTS
from ciwm.launch.series import cases, names_parameters, points
from ciwm.records import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ciwm.config import MetricConfig, WorkloadConfig
    from ciwm.ingest import Measured
    from ciwm.launch.series import Case

OWN = "samples-json"
_SHOWN = 5


class ResultError(Exception):
    """The command's results cannot be used; the text says why, in one line."""


def script(workload: WorkloadConfig, values: Mapping[str, str], launch: Path) -> str:
    """The text for `sh -ec`: the command once, or once for each case of its parameters."""
    command = workload.command or ""
    if not names_parameters(workload):
        return _filled(command, {**values, "out": str(out_file(launch, 0))})
    return "\n".join(
        _filled(
            command,
            {
                **values,
                **{name: _text(value) for name, value in case.params.items()},
                "out": str(out_file(launch, number)),
            },
        )
        for number, case in enumerate(points(workload))
    )


def out_file(launch: Path, number: int) -> Path:
    """Where the command writes the results of its n-th case."""
    return launch / f"out-{number}.json"


def read_samples(workload: WorkloadConfig, launch: Path) -> tuple[Samples, ...]:
    """The samples of the declared metrics in all result files; raises ResultError."""
    every = cases(workload)
    if names_parameters(workload):
        each = [case.series for case in points(workload)]
        groups = [
            [case for case in every if case.series in (name, f"{name}/{case.benchmark}")]
            for name in each
        ]
    else:
        groups = [list(every)]
    found = [
        one
        for number, group in enumerate(groups)
        for one in _samples(out_file(launch, number), group, workload)
    ]
    keys = [(one.series, one.metric) for one in found]
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise ResultError(f"{' '.join(twice[0])} is reported twice")
    return tuple(found)


def _samples(path: Path, expected: Sequence[Case], workload: WorkloadConfig) -> Iterator[Samples]:
    measured = _measured(path, workload)
    names = _Names(expected, workload, tuple(dict.fromkeys(one.series for one in measured)))
    for one in measured:
        series, config = names.of(one.series), workload.declared_metrics.get(one.metric)
        if series is None:
            continue
        if one.failure and (config is not None or workload.format != OWN):
            name = f"{one.series}:" if one.series else series
            raise ResultError(f"{name} {one.failure}")
        if config is None:
            _refuse_failed(one, workload)
            continue
        if workload.format == OWN and len(one.launches) > 1:
            raise ResultError(f"{series} {one.metric} is reported twice")
        yield _one(series, one, config)


def _refuse_failed(one: Measured, workload: WorkloadConfig) -> None:
    """Raise ResultError where a load generator's requests failed and nobody judges how many.

    Its latencies and rates are of the others: a server that drops half of them would look faster.
    """
    failed = sum(value for launch in one.launches for value in launch)
    if workload.format != OWN and one.metric == FAILED_REQUESTS and failed > 0:
        raise ResultError(
            f"{failed:g} of its requests failed, and other figures are of those that did not: have "
            f"that judged, too: metrics.{FAILED_REQUESTS} with a threshold_abs"
        )


def _measured(path: Path, workload: WorkloadConfig) -> tuple[Measured, ...]:
    if not path.exists():
        raise ResultError("it wrote no results to {out}")
    if not path.is_file() and not path.is_dir():  # reading a pipe or a device may never end
        raise ResultError("what it left at {out} is neither a file nor a folder")
    try:
        return read_file(path, workload.format).measured
    except UsageError as error:
        raise ResultError(error.message.replace(str(path), "{out}")) from error


def _one(series: str, one: Measured, config: MetricConfig) -> Samples:
    """All values of a metric, in the unit that is declared; ciwm's own may leave the unit out."""
    try:
        told = as_stated(one, config, series)
    except UsageError as error:
        raise ResultError(error.message) from error
    values = tuple(value for launch in told.launches for value in launch)
    return Samples(series=series, metric=one.metric, values=values, aggregate=one.aggregate)


@dataclass(frozen=True)
class _Names:
    """From the names in a file to the series of the workload."""

    expected: Sequence[Case]
    workload: WorkloadConfig
    there: tuple[str, ...]

    def of(self, name: str) -> str | None:
        """The series of a name; None for a benchmark that is not judged. Raises ResultError."""
        if self.workload.benchmarks:
            return next((case.series for case in self.expected if case.benchmark == name), None)
        if self.workload.format == OWN:
            return self._own(name)
        if len(self.expected) > 1:
            raise ResultError("its parameters are not in the command: say {name} for each")
        if len(self.there) > 1:
            raise ResultError(
                f"its results hold {len(self.there)} benchmarks ({', '.join(self.there[:_SHOWN])}"
                f"{', ...' if len(self.there) > _SHOWN else ''}): name those that are judged in "
                "benchmarks = [...]"
            )
        return self.expected[0].series

    def _own(self, name: str) -> str:
        series = [case.series for case in self.expected]
        if name == NO_NAME and len(series) > 1:
            raise ResultError("a sample does not name its series; there are several")
        if name != NO_NAME and name not in series:
            raise ResultError(f"unknown series {name!r}; expected {', '.join(series)}")
        return name or series[0]


def _filled(command: str, values: Mapping[str, str]) -> str:
    """The command with its known placeholders filled in, quoted; other braces stay."""
    return re.sub(
        r"\{(\w+)\}",
        lambda match: shlex.quote(values[match[1]]) if match[1] in values else match[0],
        command,
    )


def _text(value: str | float | bool) -> str:  # noqa: FBT001  a parameter's value
    return value if isinstance(value, str) else json.dumps(value)
