"""hyperfine: `--export-json FILE`, or the summary of `--export-csv`.

Every run is a process of its own, and so a launch. A summary has the median alone.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from ciwm.ingest.fields import Malformed, Node, decimal
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.ingest.source import Source

WRITTEN_BY = "hyperfine 1.8 to 1.20"
_HEADER = "command,mean,stddev,median,user,system,min,max"


def recognises(source: Source) -> bool:
    """Whether it is JSON whose results have a command and a median, or CSV with its header."""
    if source.is_folder:
        return False
    if not source.looks_like_json:
        return source.text.startswith(_HEADER)
    data = source.document
    results = data.get("results") if isinstance(data, dict) else None
    first = results[0] if isinstance(results, list) and results else None
    return isinstance(first, dict) and {"command", "median"} <= first.keys()


def read(source: Source) -> Reading:
    """The wall time of each command in s, and its peak memory where hyperfine measured it."""
    if source.looks_like_json:
        entries = Node(source.document)["results"]
        measured = [one for entry in entries for one in _command(entry)]
    else:
        measured = [_summary(row) for row in csv.DictReader(source.text.splitlines())]
    return Reading(tuple(measured), "hyperfine")


def _command(entry: Node) -> Iterator[Measured]:
    name = entry["command"].text()
    failure = _failure(entry)
    if failure:
        yield Measured(name, "time", "s", "lower", failure=failure)
        return
    if entry.get("times") is None:
        median = (entry["median"].number(),)
        yield Measured(name, "time", "s", "lower", (median,), aggregate="median of its runs")
        return
    yield Measured(name, "time", "s", "lower", _launches(entry["times"]))
    memory = entry.get("memory_usage_byte")
    if memory is not None:
        yield Measured(name, "peak_memory", "B", "lower", _launches(memory), extra=True)


def _launches(values: Node) -> tuple[tuple[float, ...], ...]:
    return tuple((value,) for value in values.numbers())


def _failure(entry: Node) -> str:
    """Which runs went wrong under --ignore-failure; the time of a failed run is no time."""
    codes = entry.get("exit_codes")
    bad = [code.value for code in codes if code.value != 0] if codes is not None else []
    if not bad:
        return ""
    how = "killed by a signal" if bad[0] is None else f"exit status {bad[0]}"
    return f"{len(bad)} of its runs failed ({how})"


def _summary(row: dict[str, str]) -> Measured:
    name, median = row.get("command"), row.get("median")
    if not name or median is None:
        raise Malformed("a row has no command or no median")
    value = decimal(median, f"the median of {name}")
    return Measured(name, "time", "s", "lower", ((value,),), aggregate="median of its runs")
