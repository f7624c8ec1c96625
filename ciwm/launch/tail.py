"""The last lines of a log, as people read them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ciwm.credentials import masker
from ciwm.error_line import tells_error

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LINES = 40
LINE_CHARACTERS = 500
READ_BYTES = 1 << 18
SEARCHED_BYTES = 1 << 25  # some seconds of looking for the first error
OURS = b"ciwm: "
_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")


def last_lines(log: Path, count: int = LINES) -> tuple[str, ...]:
    """The last lines with secrets masked, without colours, each of bounded length."""
    return tuple(_lines(log)[-count:])


def failed_lines(log: Path, count: int = LINES) -> tuple[str, ...]:
    """The last lines of a log that ends in failure, the first error on top where it came before."""
    shown = _lines(log)[-count:]
    first = _first_error(log)
    if not first or any(line.strip() == first for line in shown):
        return tuple(shown)
    return (first, "[...]", *shown[2:])


def _first_error(log: Path) -> str:
    """The first line of all that tells an error: other compilers may go on for long after it."""
    with log.open("rb") as file:
        while (data := file.readline(READ_BYTES)) and file.tell() < SEARCHED_BYTES:
            if data.startswith(OURS):  # it may quote a recipe that has errors in its words
                continue
            line = data.decode("utf-8", "replace")
            if tells_error(plain(line) if "\x1b" in line or "\r" in line else line.rstrip()):
                return _readable([line])[0].strip()
    return ""


def _lines(log: Path) -> list[str]:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - READ_BYTES))
        text = file.read().decode("utf-8", "replace")
    return _readable(text.split("\n"))


def _readable(lines: Iterable[str]) -> list[str]:
    mask = masker()
    shown = [mask(line) for line in map(plain, lines) if line.strip()]
    return [
        line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1] + "…"
        for line in shown
    ]


def plain(line: str) -> str:
    """A line as a terminal leaves it: no colours, and of a progress bar the last state."""
    last = line.rstrip("\r").rpartition("\r")[2]
    return "".join(c for c in _ESCAPE.sub("", last) if c.isprintable() or c == "\t").rstrip()
