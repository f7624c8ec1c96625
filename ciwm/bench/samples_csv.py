"""Samples that another tool took, as a CSV file, read into a Run that the gate can judge.

One row an iteration: series,unit,better,side,block,launch,iteration,value.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from datetime import datetime, timezone
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple, cast

from ciwm.bench.foreign_arm import foreign_arm
from ciwm.errors import UsageError
from ciwm.records import SIDES, Launch, Plan, Run, Samples, Series, Side
from ciwm.stats.gate import BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ciwm.config import GateConfig
    from ciwm.records.run import Better

COLUMNS = ("series", "unit", "better", "side", "block", "launch", "iteration", "value")
HEADER = ",".join(COLUMNS)
METRIC = "value"  # the file has one column of values, and the series names what they are


class _Row(NamedTuple):
    line: int
    series: str
    unit: str
    better: Better
    side: Side
    block: str
    launch: str
    iteration: str
    value: float


@dataclass
class _Found:
    """One series as it is read: where it was declared, and its launches in order of appearance."""

    first: _Row
    launches: dict[tuple[str, Side, str], dict[str, float]] = field(default_factory=dict)

    def add(self, row: _Row, source: Path) -> None:
        for what, here, there in (
            ("unit", row.unit, self.first.unit),
            ("better", row.better, self.first.better),
        ):
            if here != there:
                raise _wrong(
                    source,
                    row.line,
                    f"{what} of {row.series} is {here!r}, but {there!r} on line {self.first.line}",
                )
        iterations = self.launches.setdefault((row.block, row.side, row.launch), {})
        if row.iteration in iterations:
            raise _wrong(
                source,
                row.line,
                f"iteration {row.iteration} of {row.series} is there twice ({row.side}, block "
                f"{row.block}, launch {row.launch})",
            )
        iterations[row.iteration] = row.value


def read_samples(path: Path, config: GateConfig, *, in_blocks: bool = True) -> Run:
    """The file's samples as a run; raises UsageError that names the line of a bad row.

    Blocks of another size than the gate's are refused, unless blocks are of no account.
    """
    found: dict[str, _Found] = {}
    for row in _rows(path):
        found.setdefault(row.series, _Found(row)).add(row, path)
    if not found:
        raise UsageError(f"{path} holds no samples", f"its header is there; add rows: {HEADER}")
    if in_blocks:
        for name, one in found.items():
            _check_blocks(path, name, one)
    when = datetime.fromtimestamp(path.stat().st_mtime, timezone.utc)
    launches = tuple(_launches(found, when))
    return Run(
        id=path.name,
        started_at=when,
        plan=_plan(found, config),
        base=foreign_arm("base"),
        head=foreign_arm("head"),
        launches=launches,
        complete=True,
        stopped_because="the file holds no more",
    )


def _rows(path: Path) -> Iterator[_Row]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as source:
            reader = csv.DictReader(source, strict=True)
            _check_header(path, reader.fieldnames)
            for cells in reader:
                yield _row(path, reader.line_num, cells)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error}") from error
    except csv.Error as error:
        raise UsageError(f"{path} is not CSV: line {reader.line_num + 1}: {error}") from error


def _check_header(path: Path, names: object) -> None:
    given = [str(name).strip() for name in names] if isinstance(names, list) else []
    if not given:
        raise UsageError(f"{path} is empty", f"the first line is the header: {HEADER}")
    missing = [name for name in COLUMNS if name not in given]
    unknown = [name for name in given if name not in COLUMNS]
    if missing or unknown or len(given) != len(COLUMNS):
        odd = f"has {', '.join(unknown)}" if unknown else "names a column twice"
        what = f"lacks {', '.join(missing)}" if missing else odd
        raise UsageError(f"{path}: line 1: the header {what}", f"the header is: {HEADER}")


def _row(path: Path, line: int, cells: dict[str | None, object]) -> _Row:
    texts = {str(key).strip(): str(value).strip() for key, value in cells.items() if key}
    if None in cells or None in cells.values():
        raise _wrong(path, line, f"{len(COLUMNS)} cells are expected in a row")
    empty = [name for name in COLUMNS if not texts[name]]
    if empty:
        raise _wrong(path, line, f"{', '.join(empty)} is empty")
    for name, allowed in (("side", SIDES), ("better", ("lower", "higher"))):
        if texts[name] not in allowed:
            raise _wrong(path, line, f"{name} is {' or '.join(allowed)}, not {texts[name]!r}")
    return _Row(
        line,
        texts["series"],
        texts["unit"],
        cast("Better", texts["better"]),
        cast("Side", texts["side"]),
        texts["block"],
        texts["launch"],
        texts["iteration"],
        _number(path, line, texts["value"]),
    )


def _number(path: Path, line: int, text: str) -> float:
    try:
        # Python would read 1_0, and the digits of other scripts, as no other tool does
        value = float(text if text.isascii() and "_" not in text else "")
    except ValueError:
        raise _wrong(path, line, f"value is a number, not {text!r}") from None
    if not isfinite(value):
        raise _wrong(path, line, f"value is {text}: leave out launches that gave no number")
    return value


def _check_blocks(path: Path, name: str, found: _Found) -> None:
    """More launches than a block holds were shuffled in another way than the gate reckons with."""
    for side in SIDES:
        counts: dict[str, int] = {}
        for block, of, _ in found.launches:
            counts[block] = counts.get(block, 0) + (of == side)
        for block, count in counts.items():
            if count > BLOCK:
                raise UsageError(
                    f"{path}: block {block} of {name} has {count} {side} launches",
                    f"the gate judges blocks of {BLOCK} base and {BLOCK} head launches in random "
                    "order; a launch is one process",
                )


def _plan(found: dict[str, _Found], config: GateConfig) -> Plan:
    most = max(len(one.launches) for one in found.values())
    return Plan(
        seed=0,
        order="unknown",
        max_launches=max(config.max_launches, most),
        family=tuple(
            Series(
                series=name,
                metric=METRIC,
                workload=name,
                unit=one.first.unit,
                better=one.first.better,
                threshold_pct=config.threshold_pct,
            )
            for name, one in found.items()
        ),
        family_size=len(found),
        workloads=tuple(found),
        workloads_from=foreign_arm("head").revision,
    )


def _launches(found: dict[str, _Found], when: datetime) -> Iterator[Launch]:
    number = 0
    for name, one in found.items():
        blocks = {block: i for i, block in enumerate(dict.fromkeys(key[0] for key in one.launches))}
        positions = dict.fromkeys(blocks, 0)
        for (block, side, _), iterations in one.launches.items():
            yield Launch(
                number=number,
                workload=name,
                side=side,
                block=blocks[block],
                position=positions[block],
                started_at=when,
                duration_s=0,
                exit="ok",
                samples=(Samples(series=name, metric=METRIC, values=tuple(iterations.values())),),
            )
            positions[block] += 1
            number += 1


def _wrong(path: Path, line: int, what: str) -> UsageError:
    return UsageError(f"{path}: line {line}: {what}")
