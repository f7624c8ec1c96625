"""The journal of a map job, read back by subject; torn and senseless lines are left out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ciwm.launch.journal import whole_lines

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Told:
    """What the worker said of one subject; `problem` is (reason, message)."""

    lines: list[dict[str, Any]] = field(default_factory=list)
    problem: tuple[str, str] | None = None
    settled: bool = False


@dataclass
class MapJournal:
    """What a worker wrote down: subjects in the order they were begun, and its software."""

    told: dict[str, Told] = field(default_factory=dict)
    interpreter: str = ""
    torch: str = ""
    torch_build: str = ""

    def take(self, line: bytes) -> None:
        """Take one line; one that makes no sense is dropped."""
        try:
            entry = json.loads(line)
            kind = entry["kind"]
            if kind == "start":
                self.interpreter = str(entry["interpreter"])
            elif kind == "software":
                self.torch = str(entry["torch"] or "")
                self.torch_build = str(entry["torch_build"] or "")
            elif kind in ("subject", "observed", "problem", "observed_all"):
                self._of_subject(kind, entry)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return

    def _of_subject(self, kind: str, entry: dict[str, Any]) -> None:
        told = self.told.setdefault(str(entry["subject"]), Told())
        if kind == "observed" and isinstance(entry["data"], dict):
            told.lines.append(entry["data"])
        elif kind == "problem":
            told.problem = told.problem or (str(entry["reason"]), str(entry["message"]))
            told.settled = True
        elif kind == "observed_all":
            told.settled = True


def read_map_journal(path: Path) -> MapJournal:
    """The journal in a file, empty when there is none."""
    journal = MapJournal()
    for line in whole_lines(path):
        journal.take(line)
    return journal
