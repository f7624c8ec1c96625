"""A git and a cache that are this test's alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import Bed, new_bed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_git_and_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "gitconfig"
    path.write_text(
        "[user]\n\tname = A Developer\n\temail = developer@example.org\n"
        '[protocol "file"]\n\tallow = always\n[gc]\n\tauto = 0\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def bed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bed:
    return new_bed(tmp_path, capsys)
