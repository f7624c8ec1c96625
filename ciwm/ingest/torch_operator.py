"""torch's benchmarks/operator_benchmark, in each of its three outputs.

`--output-json`, `--output-json-for-dashboard`, or the CSV of `--output-csv`. Each figure is the
median of a few timed batches. Its KB are 1,024 bytes.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from ciwm.ingest.fields import Malformed, Node, decimal
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.ingest.source import Source

WRITTEN_BY = "torch operator_benchmark (2.6 to 2.13)"
_CSV = "Benchmarking Framework,Benchmarking Module Name,Case Name"
_AGGREGATE = "median of its batches"
_MICROSECOND, _KIB = 1e-6, 1024.0


def recognises(source: Source) -> bool:
    """Whether it is a list of its tests or of its dashboard records, or CSV with its header."""
    if source.is_folder:
        return False
    if not source.looks_like_json:
        return source.text.startswith(_CSV)
    data = source.document
    first = data[0] if isinstance(data, list) and data else None
    if not isinstance(first, dict):
        return False
    return {"test_name", "latency"} <= first.keys() or _is_record(first)


def read(source: Source) -> Reading:
    """The time of an iteration in s, and where it was measured the peak memory of the device."""
    if not source.looks_like_json:
        measured = _rows(source.text)
    elif _is_record(source.document[0]):
        measured = _records(Node(source.document))
    else:
        measured = _tests(Node(source.document))
    return Reading(tuple(measured), "torch operator_benchmark")


def _is_record(entry: dict[str, object]) -> bool:
    benchmark = entry.get("benchmark")
    name = benchmark.get("name") if isinstance(benchmark, dict) else None
    return isinstance(name, str) and "operator" in name and "metric" in entry


def _tests(data: Node) -> Iterator[Measured]:
    for entry in data:
        parts = [entry[key].text() for key in ("test_name", "runtime", "run") if entry.get(key)]
        unit = entry.get("latency unit")
        if unit is not None and unit.value != "us":
            raise Malformed(f"{entry.where}.latency unit is {unit.value!r}, not 'us'")
        memory = entry.get("peak memory")
        yield from _figures(
            " ".join(parts),
            entry["latency"].number(),
            memory.number() if memory is not None else 0.0,
        )


def _records(data: Node) -> Iterator[Measured]:
    for entry in data:
        model, metric = entry["model"], entry["metric"]
        kind = entry["benchmark"].get("mode")
        name = " ".join([model["name"].text(), str(kind.value) if kind is not None else ""]).strip()
        values = metric["benchmark_values"]
        if metric["name"].text() == "peak memory":
            yield from _memory(name, values[0].number())
        elif metric["unit"].text() == "us":
            yield _time(name, values[0].number())


def _rows(text: str) -> Iterator[Measured]:
    for number, row in enumerate(csv.DictReader(text.splitlines()), 2):
        name, time = row.get("Case Name"), row.get("Execution Time")
        if not name or time is None:
            raise Malformed(f"line {number} is cut off")
        memory = row.get("Peak Memory (KB)") or "0"
        where = f"line {number}: {name}"
        yield from _figures(name, decimal(time, where), decimal(memory, f"{where}: peak memory"))


def _figures(name: str, microseconds: float, memory_kib: float) -> Iterator[Measured]:
    yield _time(name, microseconds)
    yield from _memory(name, memory_kib)


def _time(name: str, microseconds: float) -> Measured:
    value = microseconds * _MICROSECOND
    return Measured(name, "time", "s", "lower", ((value,),), aggregate=_AGGREGATE)


def _memory(name: str, memory_kib: float) -> Iterator[Measured]:
    """Peak memory; zero is what is written where the device does not count it."""
    if memory_kib > 0:
        yield Measured(name, "peak_memory", "B", "lower", ((memory_kib * _KIB,),))
