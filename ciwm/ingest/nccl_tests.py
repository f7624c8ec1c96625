"""nccl-tests: what `all_reduce_perf` and its kin print.

A row is a mean over the iterations of one size. Each time is the slowest rank's where the tests
were told so (`-a 3`), else their mean. Bus bandwidth is the same time in other words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.ingest.fields import Malformed, decimal
from ciwm.ingest.joining import as_launches
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.ingest.source import Source

WRITTEN_BY = "nccl-tests 2.0 to 2.18"
_HEADER = re.compile(r"^#\s+size\s+count\s+type\b", re.MULTILINE)
_TEST = re.compile(r"^# Collective test starting: (\S+)")
_ITERATIONS = re.compile(r"(?<!warmup )(?<!agg )iters: (\d+)")
_DEVICE = re.compile(r"^#\s+Rank\s+\d+.*\bdevice\s+\S+\s+\[[^\]]*\]\s+(.*\S)")
_VERSION = re.compile(r"^# nccl-tests version (\S+)")
_SIDES = ("out_of_place", "in_place")
_LEAST = 4 + 2 * 4  # size count type redop, and twice time algbw busbw #wrong; the root may lack


@dataclass
class _Found:
    """What the lines so far came to."""

    test: str = ""
    version: str = ""
    iterations: str = ""
    devices: list[str] = field(default_factory=list)
    runs: list[list[Measured]] = field(default_factory=list)


def recognises(source: Source) -> bool:
    """Whether it has the heading of its table."""
    return (
        not source.is_folder
        and not source.looks_like_json
        and _HEADER.search(source.text) is not None
    )


def read(source: Source) -> Reading:
    """The time of each size in s, out of place and in place; bandwidths as extras, in B/s."""
    found = _Found()
    for number, line in enumerate(source.text.splitlines(), 1):
        _take(found, line, number)
    if not any(found.runs):
        raise Malformed("there is a heading and no row under it: the test was stopped")
    name = f"nccl-tests {found.version}".strip()
    return Reading(as_launches(found.runs), name, accelerators=tuple(found.devices))


def _take(found: _Found, line: str, number: int) -> None:
    for pattern, name in ((_TEST, "test"), (_VERSION, "version")):
        match = pattern.match(line)
        if match:
            setattr(found, name, match[1])
    device, iterations = _DEVICE.match(line), _ITERATIONS.search(line)
    if device:
        found.devices.append(device[1])
    elif line.startswith("#") and iterations:
        found.iterations = iterations[1]
    if _HEADER.match(line):
        found.runs.append([])
    elif found.runs and re.match(r"^\s*\d+\s+\d+\s+[a-z]", line):
        found.runs[-1] += _row(found, line.split(), number)


def _row(found: _Found, words: list[str], number: int) -> Iterator[Measured]:
    if len(words) < _LEAST:
        raise Malformed(f"line {number} is cut off: {' '.join(words)[:60]!r}")
    size, kind, operation = words[0], words[2], words[3]
    name = found.test.removesuffix("_mpi").removesuffix("_perf") or "collective"
    series = f"{name} {kind} {operation} {size} B".replace(" none ", " ")
    halves = (words[-8:-4], words[-4:])
    for side, cells in zip(_SIDES, halves, strict=True):
        yield from _half(series, side, cells, f"line {number}", found.iterations)


def _half(
    series: str, side: str, cells: list[str], where: str, iterations: str
) -> Iterator[Measured]:
    time, _, busbw, wrong = cells
    if time == "N/A":  # a collective without this variant
        return
    if wrong not in ("0", "N/A") and decimal(wrong, f"{where}: #wrong") > 0:
        why = f"{wrong} values were wrong"
        yield Measured(series, f"{side}_time", "s", "lower", failure=why)
        return
    aggregate = f"mean of {iterations or 'its'} iterations"
    seconds = decimal(time, f"{where}: time") / 1e6
    yield Measured(series, f"{side}_time", "s", "lower", ((seconds,),), aggregate=aggregate)
    bandwidth = decimal(busbw, f"{where}: busbw") * 1e9
    yield Measured(
        series,
        f"{side}_busbw",
        "B/s",
        "higher",
        ((bandwidth,),),
        aggregate=aggregate,
        extra=True,
    )
