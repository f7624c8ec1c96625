"""Which line of a build's log says what went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TELLS = re.compile(
    r"(?i:\b(?:fatal )?error\s*(?:\[[\w-]+\]|[A-Z]{1,4}\d+)?:)"  # gcc, nvcc, rustc, setuptools, pip
    r"|\b\w*(?:Error|Exception|Exit)\b:"  # the last line of a Python traceback
    r"|^(?:fatal|E): "  # git, apt
    r"|: (?:command )?not found$"  # sh
    r"|undefined (?:reference|symbol)"
    r"|CMake Error"
)
# what installers and build tools say about the failure of something else, told before
_ECHOES = re.compile(
    r"(?i)subprocess-exited-with-error|metadata-generation-failed|legacy-install-failure"
    r"|failed-wheel-build-for-install|error originates from a subprocess"
    r"|error:? failed (?:building|to build)|could not build wheels"
    r"|CalledProcessError|returned non-zero exit status|error compiling objects"
    r"|collect2: error|make(?:\[\d+\])?: \*\*\*"
)


def error_line(lines: Sequence[str]) -> str:
    """The first line that tells an error of its own, else the last line; empty for no lines."""
    return next(filter(tells_error, lines), lines[-1] if lines else "").strip()


def tells_error(line: str) -> bool:
    """Whether a line tells an error of its own, and not of another line's."""
    return _TELLS.search(line) is not None and _ECHOES.search(line) is None


class Place(NamedTuple):
    """A line of a file that an error is about."""

    path: str
    line: int


_AT_START = re.compile(
    r"^(?P<path>[^\s:()'\"][^:()'\"]*)(?::(?P<line>\d+)(?::\d+)?|\((?P<in>\d+)\)):\s"
)
_TRACEBACK = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)')
_RUSTC = re.compile(r"^\s*--> (?P<path>[^:]+):(?P<line>\d+):\d+$")


def error_place(lines: Sequence[str]) -> Place | None:
    """The file and line that `error_line` is about; None where the log does not say.

    As gcc and clang (`a.c:3:1: error:`), nvcc (`a.cu(3): error:`), rustc and Python tell it.
    """
    told = error_line(lines)
    at = next((number for number, line in enumerate(lines) if line.strip() == told), None)
    if at is None:
        return None
    found = _AT_START.match(told)
    if found:
        return Place(found["path"], int(found["line"] or found["in"]))
    if told.startswith("error"):
        return _place(_RUSTC, lines[at + 1 : at + 3])
    return _place(_TRACEBACK, reversed(lines[:at]))


def _place(pattern: re.Pattern[str], lines: Iterable[str]) -> Place | None:
    found = next(filter(None, map(pattern.match, lines)), None)
    return Place(found["path"], int(found["line"])) if found else None
