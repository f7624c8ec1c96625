"""criterion.rs: the folder `target/criterion`, or one `sample.json` or `estimates.json` in it.

`#NAME` names a baseline (`cargo bench -- --save-baseline NAME`); else the newest results are read.
A sample's time is that of all its iterations.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.ingest.fields import Malformed, Node
from ciwm.ingest.measured import Measured, Reading

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.ingest.source import Source

WRITTEN_BY = "criterion 0.3 to 0.8"
_NEWEST = "new"
_NANOSECOND = 1e-9
_FILES = ("benchmark.json", "sample.json", "estimates.json")


def recognises(source: Source) -> bool:
    """Whether it is a folder with results of criterion, or one of its files."""
    if source.is_folder:
        return any(source.path.glob("**/benchmark.json"))
    return source.path.name in _FILES and (source.path.parent / "benchmark.json").is_file()


def read(source: Source) -> Reading:
    """The time of an iteration of each benchmark, in s."""
    if not source.is_folder:
        return Reading((_benchmark(source.path.parent),), "criterion")
    wanted = source.part or _NEWEST
    every = sorted(path.parent for path in source.path.glob("**/benchmark.json"))
    names = sorted({folder.name for folder in every})
    if not source.part and _NEWEST not in names and len(names) == 1:
        wanted = names[0]
    found = [folder for folder in every if folder.name == wanted]
    if not found:
        there = ", ".join(names) or "none"
        raise UsageError(
            f"{source.path} holds no results named {wanted}",
            f"there are: {there}; name one by {source.path}#NAME",
        )
    return Reading(tuple(_benchmark(folder) for folder in found), "criterion")


def _benchmark(folder: Path) -> Measured:
    name = _json(folder / "benchmark.json")["full_id"].text()
    if (folder / "sample.json").is_file():
        sample = _json(folder / "sample.json")
        times, iterations = sample["times"].numbers(), sample["iters"].numbers()
        if len(times) != len(iterations) or min(iterations) <= 0:
            raise Malformed(f"{folder / 'sample.json'}: times and iters do not belong together")
        values = tuple(t * _NANOSECOND / n for t, n in zip(times, iterations, strict=True))
        return Measured(name, "time", "s", "lower", (values,))
    median = _json(folder / "estimates.json")["median"]["point_estimate"].number()
    value = median * _NANOSECOND
    return Measured(name, "time", "s", "lower", ((value,),), aggregate="median of its samples")


def _json(path: Path) -> Node:
    try:
        return Node(json.loads(path.read_text("utf-8")), str(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not whole JSON: {error}", "run the benchmark again") from error
