"""github-action-benchmark: its history, and the lists that its two custom tools take.

The history is `data.js`, or the JSON of `external-data-json-path`. The newest entry of each suite
is read, or by `#COMMIT` that of a commit. It keeps aggregates only. Which direction is better is
the tool's to say, and a custom list has none.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ciwm.errors import UsageError
from ciwm.ingest.fields import Malformed, Node, decimal
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.ingest.source import Source
    from ciwm.records.run import Better

WRITTEN_BY = "github-action-benchmark 1 (data.js, or [{name, unit, value}])"
_PREFIX = re.compile(r"^\s*window\.BENCHMARK_DATA\s*=\s*")
_HIGHER = ("pytest", "benchmarkjs", "customBiggerIsBetter")
_LOWER = ("cargo", "googlecpp", "catch2", "julia", "jmh", "benchmarkdotnet", "benchmarkluau")
_CUSTOM_LOWER = "customSmallerIsBetter"
# `go` publishes several units under one tool
_GO: dict[str, Better] = {
    "ns/op": "lower",
    "B/op": "lower",
    "allocs/op": "lower",
    "MB/s": "higher",
}
_AGGREGATE = "one value a run"
_TIME = re.compile(r"(ns|us|µs|ms|s)/(?:iter|op)$")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def recognises(source: Source) -> bool:
    """Whether it is data.js, its JSON, or a list of name, unit and value."""
    if source.is_folder:
        return False
    if _PREFIX.match(source.text):
        return True
    if not source.looks_like_json:
        return False
    data = source.document
    if isinstance(data, dict):
        return {"entries", "lastUpdate"} <= data.keys()
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and {"name", "unit", "value"} <= first.keys()


def read(source: Source) -> Reading:
    """One value of each benchmark, in the unit that it states."""
    data = Node(_document(source))
    if isinstance(data.value, list):
        measured = tuple(_entry(entry, "", "") for entry in data)
    else:
        measured = tuple(_history(data["entries"], source))
    return Reading(measured, "github-action-benchmark")


def _document(source: Source) -> Any:
    if not _PREFIX.match(source.text):
        return source.document
    try:
        return json.loads(_PREFIX.sub("", source.text).rstrip().rstrip(";"))
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{source.path} is not whole: {error}", "a push that was cut off leaves such a file"
        ) from error


def _history(suites: Node, source: Source) -> Iterator[Measured]:
    found = False
    for suite, runs in suites.items():
        entry = _chosen(list(runs), source.part)
        if entry is None:
            continue
        found = True
        tool = entry["tool"].text()
        yield from (_entry(bench, suite, tool) for bench in entry["benches"])
    if not found:
        what = f"no entry of commit {source.part}" if source.part else "no entry"
        raise Malformed(f"it holds {what}")


def _chosen(runs: list[Node], commit: str) -> Node | None:
    """The newest entry, or the newest of a commit."""
    if not commit:
        return runs[-1] if runs else None
    mine = [run for run in runs if run["commit"]["id"].text().startswith(commit)]
    return mine[-1] if mine else None


def _entry(bench: Node, suite: str, tool: str) -> Measured:
    name, unit = bench["name"].text(), bench["unit"].text()
    series = f"{suite}/{name}" if suite else name
    value = bench["value"]
    # the custom tools take a number in quotes, too
    quoted = isinstance(value.value, str)
    number = decimal(value.text(), value.where) if quoted else value.number()
    better, spread = _better(tool, unit), bench.get("range")
    aggregate = f"{_AGGREGATE} ({spread.value})" if spread is not None else _AGGREGATE
    timed = _TIME.match(unit)
    if timed and better == "lower":
        seconds = number * _SECONDS[timed[1]]
        return Measured(series, "time", "s", "lower", ((seconds,),), aggregate=aggregate)
    # the unit is all that tells its metrics apart, and so what a direction can be stated of
    return Measured(series, unit, unit, better, ((number,),), aggregate=aggregate)


def _better(tool: str, unit: str) -> Better | None:
    if tool == "go":
        return _GO.get(unit.split(maxsplit=1)[0])
    if tool == "jmh" and unit.startswith("ops/"):
        return None  # a rate, whose alerts the tool has the wrong way round
    if tool in _HIGHER:
        return "higher"
    return "lower" if tool in (*_LOWER, _CUSTOM_LOWER) else None
