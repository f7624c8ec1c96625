"""The journal: one JSON object a line, one append a line, nothing kept open for a stray write."""

from __future__ import annotations

import json
import os
from time import monotonic  # by name: a workload may patch the module
from typing import Any, Callable, Dict, List, Tuple

FLUSH_S = 0.2  # what a SIGKILL can cost at most, beside the iteration it interrupts
GONE = 75


class Journal:
    """Appends lines to a file; samples are gathered for a fraction of a second.

    The file is opened anew for each write, so that a workload which writes to every descriptor
    cannot reach it.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)
        self._pid = os.getpid()
        self._parent = os.getppid()
        self._values: Dict[Tuple[str, str], List[float]] = {}
        self._due_s = monotonic() + FLUSH_S

    def write(self, kind: str, **fields: Any) -> None:
        """Append one line, after the samples gathered so far."""
        self.flush()
        self._append({"kind": kind, **fields})

    def add(self, series: str, metric: str, value: float) -> None:
        """Gather one sample."""
        self.gatherer(series, metric)(value)

    def gatherer(self, series: str, metric: str) -> Callable[[float], None]:
        """What gathers samples of a metric; a list's own method, which costs next to nothing."""
        return self._values.setdefault((series, metric), []).append

    def tick(self) -> None:
        """Between two iterations: write what is due, and leave when the controller has died."""
        if monotonic() >= self._due_s:
            self.flush()
            if os.getppid() != self._parent:
                os._exit(GONE)

    def flush(self) -> None:
        """Write the gathered samples."""
        for (series, metric), values in self._values.items():
            if values:
                gathered = {"series": series, "metric": metric, "values": values[:]}
                values.clear()  # first: a disk that is full must not have them written twice
                self._append({"kind": "samples", **gathered})
        self._due_s = monotonic() + FLUSH_S

    def _append(self, line: Dict[str, Any]) -> None:
        if os.getpid() != self._pid:  # a workload's fork fell through into our loop
            os._exit(0)
        data = json.dumps(line, allow_nan=False).encode("utf-8") + b"\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            while data:  # a disk that fills up takes a part, and refuses the rest with an error
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)
