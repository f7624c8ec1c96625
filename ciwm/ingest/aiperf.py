"""AIPerf: its artifact folder, or one of the three files in it.

`profile_export.jsonl` has the samples, `profile_export_aiperf.json` and `.csv` are summaries; the
CSV is rounded to two digits after the point. AIPerf's inter token latency is ciwm's `tpot`, its
inter chunk latency ciwm's `itl`.
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ciwm.ingest.fields import Malformed, Node, decimal
from ciwm.ingest.measured import NO_NAME, Measured, Reading
from ciwm.ingest.serving import OUTPUT, REQUESTS, TOTAL, Load, failed_requests, failure
from ciwm.ingest.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITTEN_BY = "aiperf 0.3 to 0.13"
_SUMMARY, _RECORDS = "profile_export_aiperf.json", "profile_export.jsonl"
_LATENCIES = {
    "time_to_first_token": "ttft",
    "inter_token_latency": "tpot",
    "inter_chunk_latency": "itl",
    "request_latency": "e2e_latency",
}
_RATES = {
    "request_throughput": REQUESTS,
    "output_token_throughput": OUTPUT,
    "total_token_throughput": TOTAL,
}
_QUANTILES = ("p90", "p95", "p99")
_SECONDS = {"ms": 1e-3, "sec": 1.0, "s": 1.0, "us": 1e-6, "ns": 1e-9}
_CSV = "Metric,avg,min,max"


def recognises(source: Source) -> bool:
    """Whether it is a folder with a summary, or one of the three files."""
    if source.is_folder:
        return (source.path / _SUMMARY).is_file() or (source.path / _RECORDS).is_file()
    if not source.looks_like_json:
        return source.text.lstrip().startswith(_CSV)
    first = source.document
    if not isinstance(first, dict):
        return False
    return "aiperf_version" in first or {"metadata", "metrics"} <= first.keys()


def read(source: Source) -> Reading:
    """Latencies of requests in s, and rates of the run."""
    if source.is_folder:
        return _folder(source)
    if not source.looks_like_json:
        return Reading(tuple(_summary(_table(source.text), NO_NAME)), "aiperf")
    if "metrics" in source.document:
        return Reading(tuple(_records(source)), "aiperf")
    data = Node(source.document)
    version = data.get("aiperf_version")
    name = f"aiperf {version.text() if version else ''}".strip()
    return Reading(tuple(_summary(data, _model(data))), name)


def _folder(source: Source) -> Reading:
    """Samples from the records, rates from the summary; a summary alone where there is no more."""
    summary, records = source.path / _SUMMARY, source.path / _RECORDS
    if not summary.is_file():
        return read(Source(records))
    found = read(Source(summary))
    if not records.is_file():
        return found
    samples = read(Source(records)).measured
    series = found.measured[0].series
    named = tuple(replace(one, series=series) for one in samples)
    have = {one.metric for one in named}
    rest = tuple(one for one in found.measured if one.metric not in have)
    return replace(found, measured=(*named, *rest))


def _summary(data: Node, series: str) -> Iterator[Measured]:
    done = _figure(data, "request_count", "avg")
    failed = _figure(data, "error_request_count", "avg") or 0.0
    cancelled = data.get("was_cancelled")
    if cancelled is not None and cancelled.value is True:
        raise Malformed("the run was cancelled before its end")
    if done is None:
        raise Malformed("it has no request_count")
    load = Load(series, int(done), int(failed))
    broken = failure(load)
    if broken is not None:
        yield broken
        return
    for theirs, metric in _LATENCIES.items():
        entry = data.get(theirs)
        if entry is not None:
            yield from _latency(entry, metric, load)
    for key, rate in _RATES.items():
        value = _figure(data, key, "avg")
        if value is not None:
            yield Measured(series, rate.metric, rate.unit, "higher", ((value,),), extra=rate.extra)
    yield failed_requests(load)


def _latency(entry: Node, metric: str, load: Load) -> Iterator[Measured]:
    times = _seconds(entry)
    for kind in ("p50", "avg", *_QUANTILES):
        found = entry.get(kind)
        if found is None:
            continue
        words = {"p50": "median", "avg": "mean"}.get(kind, kind)
        primary = kind == "p50"
        yield Measured(
            load.series,
            metric if primary else f"{words}_{metric}",
            "s",
            "lower",
            ((found.number() * times,),),
            aggregate=f"{words} of {load.completed} requests",
            extra=not primary,
        )


def _records(source: Source) -> Iterator[Measured]:
    found: dict[str, list[float]] = {}
    failed = 0
    for number, document in enumerate(source.documents, 1):
        record = Node(document, f"line {number}")
        phase = record["metadata"].get("benchmark_phase")
        if phase is not None and phase.value == "warmup":
            continue
        failed += record.get("error") is not None
        for theirs, metric in _LATENCIES.items():
            entry = record["metrics"].get(theirs)
            if entry is not None and record.get("error") is None:
                found.setdefault(metric, []).extend(_values(entry))
    load = Load(NO_NAME, len(found.get("e2e_latency", ())), failed)
    broken = failure(load)
    if broken is not None:
        yield broken
        return
    for metric, values in found.items():
        yield Measured(NO_NAME, metric, "s", "lower", (tuple(values),))
    yield failed_requests(load)


def _values(entry: Node) -> list[float]:
    value, times = entry["value"], _seconds(entry)
    every = value.numbers() if isinstance(value.value, list) else (value.number(),)
    return [one * times for one in every]


def _seconds(entry: Node) -> float:
    unit = entry["unit"].text()
    if unit not in _SECONDS:
        raise Malformed(f"{entry.where}.unit is {unit!r}, which is no time")
    return _SECONDS[unit]


def _figure(data: Node, key: str, kind: str) -> float | None:
    entry = data.get(key)
    found = entry.get(kind) if entry is not None else None
    return found.number() if found is not None else None


def _model(data: Node) -> str:
    """The model's name, without the folder it may lie in."""
    config = data.get("input_config")
    models = config.get("models") if config is not None else None
    items = models.get("items") if models is not None else None
    first = items.get(0) if items is not None else None
    name = first.get("name") if first is not None else None
    return str(name.value).rstrip("/").rsplit("/", 1)[-1] if name is not None else NO_NAME


def _table(text: str) -> Node:
    """The CSV as the JSON has it: `Request Latency (ms),12.3` is request_latency in ms."""
    found: dict[str, dict[str, Any]] = {}
    heading: list[str] = []
    for row in csv.reader(text.splitlines()):
        if not row:
            heading = []
        elif not heading:
            heading = row
        elif heading[0] == "Metric":
            name, _, unit = row[0].partition(" (")
            key = re.sub(r"\W+", "_", name.lower())
            found[key] = {"unit": unit.rstrip(")")} | {
                "avg" if kind == "Value" else kind: decimal(cell, row[0])
                for kind, cell in zip(heading[1:], row[1:], strict=False)
                if cell.strip()
            }
    for theirs in _LATENCIES:
        if theirs in found and found[theirs].get("p50") == 0:
            raise Malformed(f"the median of {theirs} is 0.00: the CSV is rounded, give the JSON")
    return Node(found)
