"""Go benchmarks: what `go test -bench` prints, in the Go benchmark format.

Lines of one name (`-count`) are samples of one launch; each header (`goos:`) begins another, as
when the output of several runs was put together. A line is a mean over its iterations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.ingest.fields import Malformed, decimal
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.ingest.source import Source
    from ciwm.records.run import Better

WRITTEN_BY = "go test -bench (Go benchmark format)"
_LINE = re.compile(r"^(Benchmark\S*)\s+(\d+)\s+(.*\S)\s*$", re.MULTILINE)
_UNIT = re.compile(r"^Unit\s+(\S+)\s.*\bbetter=(lower|higher)\b", re.MULTILINE)
_FAILED = re.compile(r"^\s*--- FAIL: (Benchmark\S*)")
_SETTING = re.compile(r"^(goos|pkg|cpu): (.*\S)\s*$")
# the directions that the format itself knows, with ciwm's name for the metric and its unit
_KNOWN: dict[str, tuple[str, str, Better, float]] = {
    "ns/op": ("time", "s", "lower", 1e-9),
    "sec/op": ("time", "s", "lower", 1.0),
    "B/op": ("allocated", "B", "lower", 1.0),
    "allocs/op": ("allocations", "allocations", "lower", 1.0),
    "MB/s": ("throughput", "B/s", "higher", 1e6),
    "B/s": ("throughput", "B/s", "higher", 1.0),
}


@dataclass
class _Found:
    """What the lines so far came to: values by series and unit, and by run of the tool."""

    values: dict[tuple[str, str], dict[int, list[float]]] = field(default_factory=dict)
    iterations: dict[str, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    package: str = ""
    cpu: str = ""
    run: int = 0

    def name(self, benchmark: str) -> str:
        """The series: names are unique in a package only."""
        return f"{self.package}.{benchmark}" if self.package else benchmark


def recognises(source: Source) -> bool:
    """Whether there is a line of a benchmark."""
    if source.is_folder or source.looks_like_json:
        return False
    return any("/op" in found[3] or "/s" in found[3] for found in _LINE.finditer(source.text))


def read(source: Source) -> Reading:
    """Time in s, throughput in B/s, allocations, and the metrics a benchmark reports itself."""
    found = _Found()
    lines = source.text.splitlines()
    for number, line in enumerate(lines, 1):
        _take(found, line, number, lines[number] if number < len(lines) else "")
    stated = dict(_UNIT.findall(source.text))
    measured = (*_measured(found, stated), *_failed(found))
    if not measured:
        raise Malformed("no line begins with Benchmark and holds a result")
    return Reading(measured, "go test", cpu_model=found.cpu)


def _take(found: _Found, line: str, number: int, following: str) -> None:
    setting = _SETTING.match(line)
    if setting:
        found.run += setting[1] == "goos"
        found.package = setting[2] if setting[1] == "pkg" else found.package
        found.cpu = setting[2] if setting[1] == "cpu" else found.cpu
        return
    failed = _FAILED.match(line)
    if failed:
        why = following.strip() if following.startswith((" ", "\t")) else ""
        found.failures[found.name(failed[1])] = why or "the benchmark failed"
        return
    result = _LINE.match(line)
    if result:
        series = found.name(result[1])
        found.iterations[series] = int(result[2])
        for value, unit in _pairs(result[3], number):
            found.values.setdefault((series, unit), {}).setdefault(found.run, []).append(value)


def _pairs(text: str, number: int) -> Iterator[tuple[float, str]]:
    words = text.split()
    if len(words) % 2:
        raise Malformed(f"line {number} is not pairs of value and unit: {text[:60]!r}")
    for value, unit in zip(words[::2], words[1::2], strict=True):
        yield decimal(value, f"line {number}: {unit}"), unit


def _measured(found: _Found, stated: dict[str, str]) -> Iterator[Measured]:
    for (series, unit), runs in found.values.items():
        metric, own, known, times = _KNOWN.get(unit, (unit, unit, None, 1.0))
        better: Better | None = known
        if unit in stated:
            better = "higher" if stated[unit] == "higher" else "lower"
        alone = all(len(values) == 1 for values in runs.values())
        yield Measured(
            series,
            metric,
            own,
            better,
            tuple(tuple(value * times for value in values) for values in runs.values()),
            aggregate=f"mean of {found.iterations[series]} iterations" if alone else "",
            extra=metric == "throughput",  # the time once more
        )


def _failed(found: _Found) -> Iterator[Measured]:
    """A line of failure leaves out the number of processors that a name ends in."""
    ends = {match[0] for name in found.iterations if (match := re.search(r"-\d+$", name))}
    end = ends.pop() if len(ends) == 1 else ""
    for series, why in found.failures.items():
        yield Measured(series + end, "time", "s", "lower", failure=why)
