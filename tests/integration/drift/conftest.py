"""A git that is this test's alone, and two small repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import Bed, new_bed
from tests.integration.own_git import own_git_configuration

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["own_git_configuration"]  # a fixture for every test here


@pytest.fixture
def bed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bed:
    return new_bed(tmp_path, capsys)
