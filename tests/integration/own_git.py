"""A git that reads no configuration of the person who runs the tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_git_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The global configuration of this test alone; a test may write to it."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "gitconfig"
    path.write_text(
        "[user]\n\tname = A Developer\n\temail = developer@example.org\n"
        '[protocol "file"]\n\tallow = always\n[gc]\n\tauto = 0\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return path
