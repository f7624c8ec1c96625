"""What the sampler wrote beside a launch, read back and drawn together."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple

from ciwm.records.telemetry import HostTelemetry, Telemetry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ciwm.records import Accelerator

    Window = tuple[float, float]

FEWEST_BUSY = 3  # readings of a clock at work: fewer tell nothing of it
SHORTEST_S = 0.05  # the kernel counts CPU time in ticks of 10 ms: a few of them tell nothing of it


class Seen(NamedTuple):
    """The record's part of it."""

    cards: tuple[Telemetry, ...] = ()
    host: HostTelemetry | None = None
    problem: str = ""


@dataclass
class Readings:
    """The lines of one file by their kind; what makes no sense is counted and left out."""

    of_kind: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    unreadable: int = 0

    @property
    def ended(self) -> bool:
        """Whether the sampler came to its own end."""
        return "end" in self.of_kind

    def take(self, line: bytes) -> None:
        """Take one line."""
        try:
            entry = json.loads(line)
            self.of_kind.setdefault(str(entry["kind"]), []).append(entry)
        except (ValueError, TypeError, KeyError, RecursionError):
            self.unreadable += 1

    def seen(self, cards: Iterable[Accelerator], windows: Sequence[Window], cpu_s: float) -> Seen:
        """One telemetry a card that was read, the host's, and what could not be read."""
        try:
            return Seen(
                tuple(one for card in cards if (one := self._card(card, windows)) is not None),
                self._host(cpu_s),
                "; ".join(self._problems()),
            )
        except (KeyError, TypeError, ValueError) as error:
            return Seen(problem=f"the sampler's file is damaged: {error!r}")

    def _problems(self) -> list[str]:
        found = [
            f"accelerator {one['card']}: {one['what']}" if "card" in one else str(one["what"])
            for one in self._lines("problem")
        ]
        return found + ([f"{self.unreadable} lines unreadable"] if self.unreadable else [])

    def _lines(self, kind: str, card: int | None = None) -> list[dict[str, Any]]:
        lines = self.of_kind.get(kind, [])
        return lines if card is None else [one for one in lines if one.get("card") == card]

    def _card(self, card: Accelerator, windows: Sequence[Window]) -> Telemetry | None:
        lines = self._lines("card", card.index)
        if not lines:
            return None
        foreign = {pid: name for one in lines for pid, name in one.get("foreign", [])}
        stayed, passed = _hidden(lines)
        foreign.update(dict.fromkeys(stayed, ""))
        errors = self._lines("errors", card.index)
        xids = dict.fromkeys(one["xid"] for one in self._lines("event", card.index))
        return Telemetry(
            accelerator=card.index,
            vendor=card.vendor,
            readings=len(lines),
            sm_clock_locked_mhz=card.locked_sm_clock_mhz,
            sm_clock_busy_mhz=_busy_clock(lines, windows),
            **_extremes(lines),
            throttle_reasons=tuple(
                dict.fromkeys(r for one in lines for r in one.get("reasons", []))
            ),
            foreign_pids=tuple(foreign),
            foreign_names=tuple(foreign.values()),
            unattributed_pids=tuple(passed),
            ecc_corrected=_risen(errors, "corrected"),
            ecc_uncorrected=_risen(errors, "uncorrected"),
            xids=tuple(xids),
        )

    def _host(self, cpu_s: float) -> HostTelemetry | None:
        lines = self._lines("host")
        if not lines:
            return None
        clocks = [one["mhz"] for one in lines if "mhz" in one]
        return HostTelemetry(
            readings=len(lines),
            **_shares(lines, "busy"),
            **_shares(lines, "steal"),
            other_cpus=_others(lines, cpu_s),
            frequency_min_mhz=min(clocks, default=None),
            frequency_max_mhz=max(clocks, default=None),
            throttled_s=_risen(lines, "throttled_s"),
            thermal_throttles=_risen(lines, "thermal_throttles"),
        )


def read_readings(path: Path) -> Readings:
    """The readings in a file; a torn last line is left out. Raises FileNotFoundError."""
    readings = Readings()
    for line in path.read_bytes().split(b"\n")[:-1]:
        readings.take(line)
    return readings


def _extremes(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def of(name: str) -> list[Any]:
        return [one[name] for one in lines if name in one]

    use = of("utilisation_pct")
    return {
        "sm_clock_min_mhz": min(of("sm_clock_mhz"), default=None),
        "sm_clock_max_mhz": max(of("sm_clock_mhz"), default=None),
        "memory_clock_min_mhz": min(of("memory_clock_mhz"), default=None),
        "memory_clock_max_mhz": max(of("memory_clock_mhz"), default=None),
        "temperature_max_c": max(of("temperature_c"), default=None),
        "power_max_w": max(of("power_w"), default=None),
        "memory_max_bytes": max(of("memory_bytes"), default=None),
        "utilisation_mean_pct": round(fmean(use), 1) if use else None,
    }


def _busy_clock(lines: Iterable[dict[str, Any]], windows: Sequence[Window]) -> int | None:
    """The median SM clock with the card at work, inside the measured windows where known."""
    busy = [
        one["sm_clock_mhz"]
        for one in lines
        if one.get("utilisation_pct", 0) > 0
        and "sm_clock_mhz" in one
        and "gpu_idle" not in one.get("reasons", [])
        and (not windows or any(begun <= one["at_s"] <= ended for begun, ended in windows))
    ]
    return round(median(busy)) if len(busy) >= FEWEST_BUSY else None


def _hidden(lines: Sequence[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """Processes of another PID namespace: those that stayed, and those that came and went.

    The first reading is taken while the launch starts and the last one when nothing of it is left:
    what is in both, or only then, is not the launch's.
    """
    every = dict.fromkeys(pid for one in lines for pid in one.get("hidden", []))
    last = set(lines[-1].get("hidden", []))
    stayed = [pid for pid in every if pid in last]
    return stayed, [pid for pid in every if pid not in last]


def _shares(lines: Sequence[dict[str, Any]], name: str) -> dict[str, float | None]:
    """The mean and the highest share of all CPU time that went there, in percent."""
    spans = [
        100 * (after[f"{name}_s"] - before[f"{name}_s"]) / total
        for before, after in pairwise(lines)
        if (total := after["total_s"] - before["total_s"]) > 0 and _is_long(before, after)
    ]
    whole = lines[-1]["total_s"] - lines[0]["total_s"] if _is_long(lines[0], lines[-1]) else 0
    mean = 100 * (lines[-1][f"{name}_s"] - lines[0][f"{name}_s"]) / whole if whole > 0 else None
    return {
        f"{name}_mean_pct": None if mean is None else round(mean, 1),
        f"{name}_max_pct": round(max(spans), 1) if spans else None,
    }


def _is_long(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return bool(after["at_s"] - before["at_s"] >= SHORTEST_S)


def _others(lines: Sequence[dict[str, Any]], cpu_s: float) -> float | None:
    """CPUs' worth of work that was not the launch's, on average."""
    span_s = lines[-1]["at_s"] - lines[0]["at_s"]
    busy_s: float | None = _risen(lines, "busy_s")
    if busy_s is None or not _is_long(lines[0], lines[-1]):
        return None
    return float(round(max(busy_s - cpu_s, 0.0) / span_s, 2))


def _risen(lines: Sequence[dict[str, Any]], name: str) -> Any:
    """By how much a count rose from the first to the last line that has it."""
    values = [one[name] for one in lines if name in one]
    return values[-1] - values[0] if len(values) > 1 else None
