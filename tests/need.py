"""Parts of the machine a test may need, and what happens where one is absent.

A plain `pytest` skips such a test and prints why; under CIWM_TESTS_STRICT=1 it fails instead, so
that our own CI cannot pass by running nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Skip the running test for `reason`; fail it when tests are strict."""
    if os.environ.get("CIWM_TESTS_STRICT") == "1":
        pytest.fail(f"CIWM_TESTS_STRICT=1, and {reason}", pytrace=False)
    pytest.skip(reason)


def need(*programs: str) -> str:
    """The path of the last of the programs; the test is skipped (or fails) when one is absent.

    A program that pip installed is found beside the interpreter even where PATH lacks its folder.
    """
    found = ""
    for program in programs:
        path = shutil.which(program) or _beside_interpreter(program)
        if path is None:
            missing(f"{program} is not installed here")
        found = path
    return found


def _beside_interpreter(program: str) -> str | None:
    path = Path(sys.executable).parent / program
    return str(path) if os.access(path, os.X_OK) else None
