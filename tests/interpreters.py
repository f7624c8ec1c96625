"""The Pythons a worker must run under: the oldest promised, and ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def python39() -> str | None:
    """A Python 3.9 that starts, from pyenv or PATH; None when this machine has none."""
    kept = sorted(Path("~/.pyenv/versions").expanduser().glob("3.9.*/bin/python"))
    found = [*map(str, kept), shutil.which("python3.9")]
    return next((path for path in found if path and _starts(path)), None)


def worker_pythons() -> list[str]:
    """Every interpreter that worker tests run under."""
    return [path for path in (sys.executable, python39()) if path]


def _starts(path: str) -> bool:
    probe = "import sys; assert sys.version_info[:2] == (3, 9)"
    done = subprocess.run([path, "-c", probe], check=False)
    return done.returncode == 0
