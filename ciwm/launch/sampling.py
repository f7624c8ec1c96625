"""The sampler: started beside a block, told of its launches, and what it saw of each."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ciwm.launch.exits import last_line, shortened
from ciwm.launch.readings import Readings, Seen, read_readings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.records import Accelerator

SAMPLER = Path(__file__).resolve().parent.parent / "devices" / "sampler.py"
TELEMETRY = "telemetry.jsonl"
END_S = 10.0  # for the last reading of a card that is slow to answer


class Sampler:
    """Watches the cards and the CPUs through the launches of a block.

    Whatever keeps it from its work is a problem of the launch, told in its record, and never an
    error: a launch is worth having without it.
    """

    def __init__(self, cards: Sequence[Accelerator], hz: float) -> None:
        self.cards = tuple(cards)
        self._hz = hz
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, folder: Path) -> str:
        """Watch from now on, into a file of that folder; why that cannot be, or nothing.

        A sampler that has died is started anew.
        """
        if not self._hz:
            return ""
        try:
            if self._process is None or self._process.poll() is not None:
                self.close()
                self._process = self._started()
            self._tell({"out": str(folder / TELEMETRY)})
        except OSError as error:
            return f"the sampler cannot start: {error.strerror or error}"
        return ""

    def end(self) -> str:
        """Take the last reading; what went wrong, or nothing."""
        if self._process is None:
            return ""
        with contextlib.suppress(OSError):  # what became of it is seen below
            self._tell({})
        said = self._answer()
        if said is not None:
            return f"the sampler's file is not whole: {said}" if said else ""
        return self._abandoned()

    def seen(
        self, folder: Path, windows: Sequence[tuple[float, float]], cpu_s: float
    ) -> Seen | None:
        """What was seen of a launch; None where nothing was to be watched.

        `windows` are the times (monotonic) that were measured, `cpu_s` what the launch used.
        """
        if not self._hz:
            return None
        try:
            readings = read_readings(folder / TELEMETRY)
        except OSError as error:
            return (
                Readings()
                .seen((), (), 0)
                ._replace(problem=f"no telemetry: {error.strerror or error}")
            )
        return readings.seen(self.cards, windows, cpu_s)

    def close(self) -> None:
        """End the sampler; it flushes what it has."""
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=END_S)
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        request = {
            "path": [*map(os.path.abspath, sys.path), str(SAMPLER.parents[2])],
            "hz": self._hz,
            "controller": os.getpid(),
            "cards": [{"index": c.index, "vendor": c.vendor, "uuid": c.uuid} for c in self.cards],
        }
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SAMPLER)],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._tell(request)
        return self._process

    def _tell(self, order: dict[str, Any]) -> None:
        assert self._process is not None  # noqa: S101  only asked of one that was started
        _pipe(self._process.stdin).write(json.dumps(order).encode() + b"\n")

    def _answer(self) -> str | None:
        """What it says at the end of a launch; None when it does not, or has died."""
        assert self._process is not None  # noqa: S101  as above
        pipe, text, deadline = _pipe(self._process.stdout), b"", time.monotonic() + END_S
        while not text.endswith(b"\n"):
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([pipe], [], [], left_s)[0]:
                return None
            part = pipe.read(4096)
            if not part:
                return None
            text += part
        return text.decode("utf-8", "replace").strip()

    def _abandoned(self) -> str:
        """Kill one that does not answer; what became of it, in words."""
        assert self._process is not None  # noqa: S101  as above
        hung = False
        try:
            _, said = self._process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            hung = True
            self._process.kill()
            _, said = self._process.communicate()
        status, self._process = self._process.returncode, None
        if hung:
            return f"the sampler was killed: it did not answer within {END_S:g} s"
        words = last_line(said.decode("utf-8", "replace"))
        return f"the sampler ended with status {status}" + (f": {words}" if words else "")


@contextlib.contextmanager
def sampler(cards: Sequence[Accelerator], hz: float) -> Iterator[Sampler]:
    """A sampler for the launches of one block on these cards; at 0 Hz nothing is watched."""
    made = Sampler(cards, hz)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def watched(by: Sampler | None, folder: Path) -> Iterator[list[str]]:
    """Have a launch watched; what is yielded holds the problems there were, in words."""
    problems: list[str] = []
    if by is None:
        yield problems
        return
    said = by.begin(folder)
    try:
        yield problems
    finally:
        said = said or by.end()
        problems += [shortened(said)] if said else []


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101  we asked for it
    return pipe
