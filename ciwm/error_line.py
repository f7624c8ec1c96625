"""Which line of a build's log says what went wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    found = (line for line in lines if _TELLS.search(line) and not _ECHOES.search(line))
    return next(found, lines[-1] if lines else "").strip()
