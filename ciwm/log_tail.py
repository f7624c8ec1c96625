"""A log read while it grows, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHUNK_BYTES = 1 << 16
CHUNKS_A_TURN = 64  # an endless writer must not keep its reader from looking at the clock


class LogTail:
    """Reads a growing log from an offset, and hands over whole lines."""

    def __init__(self, log: Path, offset: int, on_line: Callable[[str], None] | None) -> None:
        self.wanted = on_line is not None
        self._on_line = on_line
        self._file = log.open("rb") if on_line is not None else None
        self._rest = b""
        if self._file is not None:
            self._file.seek(offset)

    def show(self) -> bool:
        """Hand over what has come, within bounds; whether there may be more."""
        if self._file is None:
            return False
        for _ in range(CHUNKS_A_TURN):
            chunk = self._file.read(CHUNK_BYTES)
            if not chunk:
                return False
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._hand_over(line)
            if len(self._rest) > CHUNK_BYTES:  # a line without an end, in pieces
                self._hand_over(self._rest)
                self._rest = b""
        return True

    def show_rest(self) -> None:
        """Hand over all that is left, the unfinished last line too."""
        while self.show():
            pass
        if self._rest:
            self._hand_over(self._rest)
            self._rest = b""

    def _hand_over(self, line: bytes) -> None:
        if self._on_line is not None:
            self._on_line(line.decode("utf-8", "replace").rstrip("\r"))

    def close(self) -> None:
        """Close the log."""
        if self._file is not None:
            self._file.close()
