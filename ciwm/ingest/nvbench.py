"""NVBench: `--jsonbin FILE` (samples in binary files beside it) or `--json FILE` (summaries)."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.ingest.fields import Malformed, Node, decimal
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ciwm.ingest.source import Source

WRITTEN_BY = "NVBench (JSON layout 1)"
_SAMPLES = "nv/json/bin:nv/cold/sample_times"
_BYTES_PER_SAMPLE = 4
# metric, whether it is an extra, and the summaries it can be had from, the best one first
_TIMES = (
    (
        "gpu_time",
        False,
        (("nv/cold/time/gpu/median", "median"), ("nv/cold/time/gpu/mean", "mean")),
    ),
    ("cpu_time", True, (("nv/cold/time/cpu/mean", "mean"),)),
    ("batch_gpu_time", True, (("nv/batch/time/gpu/mean", "mean over batches"),)),
)
_CPU_ONLY = "nv/cpu_only/time/cpu/mean"


def recognises(source: Source) -> bool:
    """Whether it is JSON with devices and benchmarks that have states."""
    return source.is_object_with("devices", "benchmarks", "meta")


def read(source: Source) -> Reading:
    """The GPU time of each state in s: its samples, else their median or mean."""
    data = Node(source.document)
    devices = [device["name"].text() for device in data["devices"]]
    measured = tuple(
        one
        for bench in data["benchmarks"]
        for state in bench["states"]
        for one in _state(bench["name"].text(), state, source.path, alone=len(devices) <= 1)
    )
    return Reading(measured, "NVBench", accelerators=tuple(devices))


def _state(bench: str, state: Node, path: Path, *, alone: bool) -> Iterator[Measured]:
    named = state.get("name")
    axes = named.text() if named is not None and named.value != "" else ""
    # on one device its number says nothing: its name is a fact of the machine
    axes = re.sub(r"^Device=\d+ ?", "", axes) if alone else axes
    series = f"{bench} {axes}".strip()
    skipped = state.get("is_skipped")
    if skipped is not None and skipped.value:
        why = state.get("skip_reason")
        reason = why.text() if why is not None and why.value else "skipped, without a reason"
        yield Measured(series, "gpu_time", "s", "lower", failure=reason)
        return
    summaries = {one["tag"].text(): one for one in state["summaries"]}
    found = list(_times(series, summaries, path))
    if not found:
        raise Malformed(f"{series} has none of {', '.join(tag for tag, _ in _TIMES[0][2])}")
    yield from found


def _times(series: str, summaries: dict[str, Node], path: Path) -> Iterator[Measured]:
    if _SAMPLES in summaries:
        values = _samples(summaries[_SAMPLES], path)
        yield Measured(series, "gpu_time", "s", "lower", (values,))
    for metric, extra, tags in _TIMES:
        tag = next(((tag, kind) for tag, kind in tags if tag in summaries), None)
        if tag is None or (metric == "gpu_time" and _SAMPLES in summaries):
            continue
        yield _summed(series, metric, summaries[tag[0]], tag[1], extra=extra)
    if _CPU_ONLY in summaries:
        yield _summed(series, "cpu_time", summaries[_CPU_ONLY], "mean", extra=False)


def _summed(series: str, metric: str, summary: Node, kind: str, *, extra: bool) -> Measured:
    value = _value(summary, "value")
    return Measured(
        series, metric, "s", "lower", ((value,),), aggregate=f"{kind} of all samples", extra=extra
    )


def _value(summary: Node, name: str) -> float:
    for entry in summary["data"]:
        if entry["name"].text() == name:
            return decimal(str(entry["value"].value), f"{entry.where}.value")
    raise Malformed(f"{summary.where} has no {name}")


def _samples(summary: Node, path: Path) -> tuple[float, ...]:
    """Seconds of each sample, 4-byte floats in little-endian order."""
    names = [e["value"].text() for e in summary["data"] if e["name"].text() == "filename"]
    if not names:
        raise Malformed(f"{summary.where} names no file")
    count = int(_value(summary, "size"))
    # the name is written as the tool was given it, from where the tool was started
    places = [path.parent / names[0], path.parent.parent / names[0]]
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        raise UsageError(
            f"{path}: its samples are in {names[0]}, which is not there",
            "keep the folder that --jsonbin writes beside the file",
        )
    data = file.read_bytes()
    if len(data) != count * _BYTES_PER_SAMPLE or not count:
        raise Malformed(f"{file} holds {len(data)} bytes, and {count} samples are announced")
    values = array("f", data)
    if array("H", b"\x01\x00")[0] != 1:
        values.byteswap()
    return Node(list(values), str(file)).numbers()
