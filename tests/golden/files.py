"""Golden files: outputs that a person has read, compared byte for byte.

To write them anew, run the tests under CIWM_WRITE_GOLDEN=1, then read what `git diff` shows.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent


def assert_golden(name: str, text: str) -> None:
    """Compare a text with the file of this name, or write it when asked to."""
    file = FOLDER / name
    if os.environ.get("CIWM_WRITE_GOLDEN") == "1":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.is_file(), f"{name} is missing: run the tests under CIWM_WRITE_GOLDEN=1"
    assert text == file.read_text(encoding="utf-8")
