"""airspeed velocity: a file of `.asv/results/MACHINE/`, with samples by `asv run --record-samples`.

Units stand in `benchmarks.json` two folders up; without it they are asv's own by the name's prefix.
asv takes less for better, and whatever a `track_` benchmark counts is for the user to say.
"""

from __future__ import annotations

import json
from itertools import product
from math import isnan
from typing import TYPE_CHECKING, Any

from ciwm.ingest.fields import Malformed, Node
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ciwm.ingest.source import Source
    from ciwm.records.run import Better

WRITTEN_BY = "asv 0.4 to 0.6 (layout 2)"
_LAYOUT = 2
# the prefix of a benchmark's name is what asv tells its kind by
_KINDS: dict[str, tuple[str, str, Better | None]] = {
    "time": ("time", "s", "lower"),
    "timeraw": ("time", "s", "lower"),
    "mem": ("memory", "B", "lower"),
    "peakmem": ("peak_memory", "B", "lower"),
}


def recognises(source: Source) -> bool:
    """Whether it is JSON with result columns."""
    return source.is_object_with("result_columns", "results")


def read(source: Source) -> Reading:
    """Each benchmark with each combination of its parameters."""
    data = Node(source.document)
    layout = data.get("version")
    if layout is None or layout.value != _LAYOUT:
        raise Malformed(f"version is {layout.value if layout else 'not stated'}, not {_LAYOUT}")
    columns = [column.text() for column in data["result_columns"]]
    units = _units(source.path)
    params = data.get("params")
    measured = [
        one
        for name, row in data["results"].items()
        for one in _benchmark(name, _cells(row, columns), units.get(name, ""))
    ]
    return Reading(tuple(measured), "asv", cpu_model=_fact(params, "cpu"), cpu_count=_count(params))


def _cells(row: Node, columns: list[str]) -> Node:
    """A row by column; asv leaves out empty ones at the end, and older files only have a result."""
    if not isinstance(row.value, list):
        raise Malformed(f"{row.where} is not a row of columns")
    return Node(dict(zip(columns, row.value, strict=False)), row.where)


def _benchmark(name: str, cells: Node, unit: str) -> Iterator[Measured]:
    metric, known, better = _kind(name, unit)
    points = [", ".join(point) for point in product(*_parameters(cells))]
    results = cells.get("result")
    for i, point in enumerate(points):
        series = f"{name}({point})" if point else name
        # null is a benchmark that failed, NaN one that has nothing to do for these parameters
        found = results.get(i) if results is not None else None
        value = found.value if found is not None else None
        if isinstance(value, float) and isnan(value):
            continue
        if value is None:
            yield Measured(series, metric, known, better, failure="asv could not run it")
            continue
        yield _measured(series, (metric, known, better), cells, i)


def _measured(series: str, kind: tuple[str, str, Better | None], cells: Node, i: int) -> Measured:
    every = cells.get("samples")
    samples = every.get(i) if every is not None else None
    if samples is not None and samples.value:
        return Measured(series, *kind, (samples.numbers(),))
    value = cells["result"][i].number()
    timed = kind[0] == "time"
    aggregate = "median of its samples, which asv did not record" if timed else ""
    return Measured(series, *kind, ((value,),), aggregate=aggregate)


def _parameters(cells: Node) -> list[list[str]]:
    params = cells.get("params")
    if params is None:
        return []
    return [[str(value.value) for value in values] for values in params]


def _kind(name: str, unit: str) -> tuple[str, str, Better | None]:
    prefix = name.rsplit(".", 1)[-1].split("_", 1)[0].lower()
    if prefix in _KINDS:
        return _KINDS[prefix]
    return "value", "" if unit == "unit" else unit, None


def _units(path: Path) -> dict[str, str]:
    """Units by benchmark, as asv wrote them beside its results; none where they are not there."""
    try:
        data: Any = json.loads((path.parent.parent / "benchmarks.json").read_text("utf-8"))
        return {name: str(one["unit"]) for name, one in data.items() if isinstance(one, dict)}
    except (OSError, ValueError, KeyError, AttributeError):
        return {}


def _fact(params: Node | None, key: str) -> str:
    found = params.get(key) if params is not None else None
    return str(found.value) if found is not None else ""


def _count(params: Node | None) -> int:
    text = _fact(params, "num_cpu")
    return int(text) if text.isdigit() else 0
