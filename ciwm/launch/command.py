"""`command` workloads: the shell script of a launch, and the samples the command wrote.

The command is run by `sh -ec` in the folder of the workload files. `{out}` is the file it writes
its results to, `{build}` the side's build, `{python}` its interpreter, `{workloads}` that folder,
and `{name}` a parameter; each is filled in quoted. Its results are JSON, either
`{"metric": number-or-list, ...}` or
`{"samples": [{"metric": "...", "values": [...], "series": "id/batch=8"}, ...]}`.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from typing import TYPE_CHECKING, Any

from ciwm.launch.series import cases, names_parameters
from ciwm.records import Samples

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ciwm.config import WorkloadConfig

LIMIT_BYTES = 256 * 2**20


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
        for number, case in enumerate(cases(workload))
    )


def out_file(launch: Path, number: int) -> Path:
    """Where the command writes the results of its n-th case."""
    return launch / f"out-{number}.json"


def read_samples(workload: WorkloadConfig, launch: Path) -> tuple[Samples, ...]:
    """The samples of the declared metrics in all result files; raises ResultError."""
    every = cases(workload)
    if names_parameters(workload):
        groups = [(out_file(launch, i), [case.series]) for i, case in enumerate(every)]
    else:
        groups = [(out_file(launch, 0), [case.series for case in every])]
    found = [one for path, series in groups for one in _samples(path, series, workload)]
    keys = [(one.series, one.metric) for one in found]
    twice = [key for key in keys if keys.count(key) > 1]
    if twice:
        raise ResultError(f"{' '.join(twice[0])} is reported twice")
    return tuple(found)


def _samples(path: Path, expected: list[str], workload: WorkloadConfig) -> list[Samples]:
    entries = _entries(_parsed(path))
    samples = []
    for entry in entries:
        series = entry.get("series", expected[0] if len(expected) == 1 else None)
        if series is None:
            raise ResultError("a sample does not name its series; there are several")
        if series not in expected:
            raise ResultError(f"unknown series {series!r}; expected {', '.join(expected)}")
        if entry["metric"] in workload.declared_metrics:
            samples.append(
                Samples(series=series, metric=entry["metric"], values=_values(entry, series))
            )
    return samples


def _parsed(path: Path) -> Any:
    try:
        if path.stat().st_size > LIMIT_BYTES:
            raise ResultError(f"its results are larger than {LIMIT_BYTES // 2**20} MiB")
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResultError("it wrote no results to {out}") from None
    except OSError as error:
        raise ResultError(f"its results cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ResultError(f"its results are not JSON: {error}") from error


def _entries(data: Any) -> list[dict[str, Any]]:
    """Both forms as a list of entries with `metric` and `values`."""
    if not isinstance(data, dict) or not data:
        raise ResultError("its results are not a JSON object with samples")
    if "samples" not in data:
        return [{"metric": name, "values": values} for name, values in data.items()]
    entries = data["samples"]
    if not isinstance(entries, list):
        raise ResultError("samples is not a list")
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("metric"), str):
            raise ResultError("a sample is not an object with a metric")
        unknown = sorted(entry.keys() - {"series", "metric", "values"})
        if unknown or "values" not in entry:
            what = f"an unknown key {unknown[0]!r}" if unknown else "no values"
            raise ResultError(f"the sample of {entry['metric']} has {what}")
    return entries


def _values(entry: Mapping[str, Any], series: str) -> tuple[float, ...]:
    given = entry["values"]
    values = given if isinstance(given, list) else [given]
    name = f"{series} {entry['metric']}"
    if not values:
        raise ResultError(f"{name} has no values")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ResultError(f"{name} has a value that is no number: {json.dumps(value)[:60]}")
        if not math.isfinite(value):
            raise ResultError(f"{name} is {value}")
    return tuple(float(value) for value in values)


def _filled(command: str, values: Mapping[str, str]) -> str:
    """The command with its known placeholders filled in, quoted; other braces stay."""
    return re.sub(
        r"\{(\w+)\}",
        lambda match: shlex.quote(values[match[1]]) if match[1] in values else match[0],
        command,
    )


def _text(value: str | float | bool) -> str:  # noqa: FBT001  a parameter's value
    return value if isinstance(value, str) else json.dumps(value)
