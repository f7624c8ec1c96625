"""Google Benchmark: `--benchmark_out=FILE --benchmark_out_format=json`.

Each repetition is a mean over its iterations. Several of them are samples; of a single one, or of
`--benchmark_report_aggregates_only`, there is an aggregate alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.ingest.fields import Malformed, Node, is_number
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.ingest.source import Source
    from ciwm.records.run import Better

WRITTEN_BY = "Google Benchmark 1.5 to 1.9"
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_RATES = {"items_per_second": "items/s", "bytes_per_second": "B/s"}
# the tool's own keys: any other number is a counter of the user's
_OWN = frozenset(
    {
        *("name", "family_index", "per_family_instance_index", "run_name", "run_type"),
        *("repetitions", "repetition_index", "threads", "iterations", "label"),
        *("real_time", "cpu_time", "time_unit", "aggregate_name", "aggregate_unit"),
        *("error_occurred", "error_message", "skipped", "skip_message"),
        *("big_o", "rms", "complexity_n", "cpu_coefficient", "real_coefficient"),
        *("allocs_per_iter", "max_bytes_used", "total_allocated_bytes", "net_heap_growth"),
    }
)
_MIDDLES = ("median", "mean")
_FITTED = ("BigO", "RMS")  # what ->Complexity() adds: a curve through times that are there already


def recognises(source: Source) -> bool:
    """Whether it is JSON with `benchmarks` and a `context`."""
    return source.is_object_with("context", "benchmarks")


def read(source: Source) -> Reading:
    """real_time of each benchmark in s; cpu_time as an extra; its counters."""
    data = Node(source.document)
    entries: dict[str, list[Node]] = {}
    for entry in data["benchmarks"]:
        if _is_measured(entry):
            name = (entry.get("run_name") or entry["name"]).text()
            entries.setdefault(name, []).append(entry)
    context = data["context"]
    version = context.get("library_version")
    cpus = context.get("num_cpus")
    measured = [one for name, found in entries.items() for one in _benchmark(name, found)]
    return Reading(
        tuple(measured),
        f"Google Benchmark {version.text() if version else ''}".strip(),
        cpu_count=int(cpus.number()) if cpus else 0,
    )


def _benchmark(name: str, entries: list[Node]) -> Iterator[Measured]:
    failed = [entry for entry in entries if entry.get("error_occurred") is not None]
    broken = next((entry for entry in failed if entry.value["error_occurred"]), None)
    if broken is not None:
        message = broken.get("error_message")
        why = message.text() if message else "an error that has no message"
        yield Measured(name, "real_time", "s", "lower", failure=why)
        return
    counted = [entry for entry in entries if not _is_aggregate(entry)]
    if len(counted) > 1:
        yield from _metrics(name, counted, "")
    elif counted:
        yield from _metrics(
            name, counted, f"mean of {counted[0]['iterations'].number():g} iterations"
        )
    else:
        yield from _aggregated(name, entries)


def _aggregated(name: str, entries: list[Node]) -> Iterator[Measured]:
    by_name = {entry["aggregate_name"].text(): entry for entry in entries}
    found = next((kind for kind in _MIDDLES if kind in by_name), None)
    if found is None:
        raise Malformed(f"{name} has neither repetitions nor their median or mean")
    entry = by_name[found]
    repeats = entry.get("repetitions") or entry["iterations"]
    yield from _metrics(name, [entry], f"{found} of {repeats.number():g} repetitions")


def _metrics(name: str, entries: Sequence[Node], aggregate: str) -> Iterator[Measured]:
    for metric in ("real_time", "cpu_time"):
        values = tuple(entry[metric].number() * _seconds(entry) for entry in entries)
        extra = metric == "cpu_time"
        yield Measured(name, metric, "s", "lower", (values,), aggregate=aggregate, extra=extra)
    for counter in _counters(entries[0]):
        values = tuple(entry[counter].number() for entry in entries)
        unit = _RATES.get(counter, "")
        better: Better | None = "higher" if unit else None
        # rates are the time once more
        yield Measured(
            name, counter, unit, better, (values,), aggregate=aggregate, extra=bool(unit)
        )


def _counters(entry: Node) -> list[str]:
    return [key for key, node in entry.items() if key not in _OWN and is_number(node.value)]


def _seconds(entry: Node) -> float:
    unit = entry["time_unit"].text()
    if unit not in _SECONDS:
        raise Malformed(f"{entry.where}.time_unit is {unit!r}")
    return _SECONDS[unit]


def _is_measured(entry: Node) -> bool:
    """Whether it is of something that ran: one that SkipWithMessage left out has a time of 0."""
    skipped, kind = entry.get("skipped"), entry.get("aggregate_name")
    if skipped is not None and skipped.value is True:
        return False
    return kind is None or kind.value not in _FITTED


def _is_aggregate(entry: Node) -> bool:
    kind = entry.get("run_type")
    return kind is not None and kind.value == "aggregate"
