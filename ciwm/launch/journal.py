"""The worker's journal, read back: tolerant of a torn last line and of lines that make no sense."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ciwm.launch.series import STEP_TIME
from ciwm.records import Samples

if TYPE_CHECKING:
    from pathlib import Path

REASONS = ("failed", "oom", "invalid")


@dataclass
class Journal:
    """What a worker wrote down; `unreadable` counts the lines that were dropped."""

    host: str = ""
    interpreter: str | None = None
    torch: str | None = None
    torch_build: str | None = None
    collective_library: str | None = None
    warmup_iterations: int = 0
    clocks: dict[str, str] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)  # a sample, by series
    batches: dict[str, int] = field(default_factory=dict)  # of steps, made one sample
    unsteady: list[str] = field(default_factory=list)
    own_files: int | None = None
    error: tuple[str, str] | None = None
    failed_at: float | None = None  # seconds since the epoch
    death: tuple[int, int] | None = None  # the rank that ended without a word, and its status
    ended: bool = False
    unreadable: int = 0
    windows: list[tuple[float, float]] = field(default_factory=list)  # measured, in monotonic time
    _values: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    @property
    def samples(self) -> tuple[Samples, ...]:
        """All samples, by series and metric, in the order they were taken."""
        return tuple(
            Samples(
                series=series,
                metric=metric,
                values=tuple(values),
                calls=self.calls.get(series, 1) if metric == STEP_TIME else 1,
            )
            for (series, metric), values in self._values.items()
        )

    def put(self, samples: Samples) -> None:
        """Add samples of a series and metric."""
        self._values.setdefault((samples.series, samples.metric), []).extend(samples.values)

    def take(self, line: bytes) -> None:
        """Take one line; what it says wrongly is dropped as a whole."""
        try:
            entry = json.loads(line)
            handler = getattr(self, f"_take_{entry['kind']}", None)
            if handler is not None:
                handler(entry)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.unreadable += 1

    def _take_start(self, entry: dict[str, Any]) -> None:
        self.interpreter = _words(entry["interpreter"])
        self.host = _words(entry.get("host", ""))

    def _take_software(self, entry: dict[str, Any]) -> None:
        self.torch, self.torch_build = (
            None if entry[key] is None else _words(entry[key]) for key in ("torch", "torch_build")
        )
        library = entry.get("collective_library")
        self.collective_library = None if library is None else _words(library)

    def _take_warmup(self, entry: dict[str, Any]) -> None:
        self.warmup_iterations += int(entry["iterations"])
        if not entry.get("steady", True):
            self.unsteady.append(_words(entry["series"]))

    def _take_clock(self, entry: dict[str, Any]) -> None:
        self.clocks[_words(entry["series"])] = _words(entry["clock"])
        self.calls[_words(entry["series"])] = max(int(entry.get("calls", 1)), 1)

    def _take_batch(self, entry: dict[str, Any]) -> None:
        self.batches[_words(entry["series"])] = max(int(entry["size"]), 1)

    def _take_measured(self, entry: dict[str, Any]) -> None:
        self.windows.append((float(entry["begun_s"]), float(entry["ended_s"])))

    def _take_samples(self, entry: dict[str, Any]) -> None:
        key = (_words(entry["series"]), _words(entry["metric"]))
        values = [float(value) for value in entry["values"]]
        if not all(math.isfinite(value) for value in values):
            raise ValueError("not finite")
        self._values.setdefault(key, []).extend(values)

    def _take_origin(self, entry: dict[str, Any]) -> None:
        self.own_files = int(entry["own_files"])

    def _take_error(self, entry: dict[str, Any]) -> None:
        reason = entry["reason"] if entry["reason"] in REASONS else "failed"
        self.error = self.error or (reason, _words(entry["message"]))
        if self.failed_at is None and "at" in entry:
            self.failed_at = float(entry["at"])

    def _take_end(self, _entry: dict[str, Any]) -> None:
        self.ended = True


def read_journal(path: Path) -> Journal:
    """The journal in a file, empty when there is none; a torn last line is left out."""
    journal = Journal()
    for line in whole_lines(path):
        journal.take(line)
    return journal


def whole_lines(path: Path) -> list[bytes]:
    """The lines of a file but for a torn last one; none where there is no file."""
    try:
        return path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def _words(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return " ".join(value.split())
