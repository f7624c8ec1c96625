"""pyperf: `-o FILE`, plain or packed by gzip. Each run is a process, and so a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.ingest.fields import Malformed, Node
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from ciwm.ingest.source import Source
    from ciwm.records.run import Better

WRITTEN_BY = "pyperf 1.0 to 2.10 (layout 1.0)"
_UNITS: dict[str, tuple[str, str, Better | None]] = {
    "second": ("time", "s", "lower"),
    "byte": ("memory", "B", "lower"),
    "integer": ("value", "", None),
}


def recognises(source: Source) -> bool:
    """Whether it is JSON whose benchmarks have runs."""
    if not source.looks_like_json:
        return False
    data = source.document
    entries = data.get("benchmarks") if isinstance(data, dict) else None
    first = entries[0] if isinstance(entries, list) and entries else None
    return isinstance(first, dict) and "runs" in first


def read(source: Source) -> Reading:
    """The values of each benchmark's processes; runs that only calibrate have none."""
    data = Node(source.document)
    version = data.get("version")
    if version is None or str(version.value) != "1.0":
        raise Malformed(f"version is {version.value if version else 'not stated'}, not 1.0")
    common = data.get("metadata")
    facts = [
        common,
        *(run.get("metadata") for entry in data["benchmarks"] for run in entry["runs"]),
    ]
    cpus = _text(facts, "cpu_count")
    return Reading(
        tuple(_benchmark(entry, common) for entry in data["benchmarks"]),
        f"pyperf {_text(facts, 'perf_version')}".strip(),
        cpu_model=_text(facts, "cpu_model_name"),
        cpu_count=int(cpus) if cpus.isdigit() else 0,
    )


def _benchmark(entry: Node, common: Node | None) -> Measured:
    facts = [entry.get("metadata"), common]
    name, unit = _text(facts, "name"), _text(facts, "unit") or "second"
    if not name:
        raise Malformed(f"{entry.where}.metadata.name is missing")
    if unit not in _UNITS:
        raise Malformed(f"the unit of {name} is {unit!r}")
    runs = [run["values"] for run in entry["runs"] if run.get("values") is not None]
    if not runs:
        return Measured(name, *_UNITS[unit], failure="no run holds a value: all only calibrate")
    return Measured(name, *_UNITS[unit], tuple(run.numbers() for run in runs))


def _text(facts: list[Node | None], key: str) -> str:
    """What is said first of something."""
    for node in facts:
        found = node.get(key) if node is not None else None
        if found is not None:
            return str(found.value)
    return ""
