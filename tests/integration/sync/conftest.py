"""A git that is this test's alone, a fork, and ciwm in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.own_git import own_git_configuration
from tests.integration.sync.git_scene import Ciwm, Scene, fork_with_upstream

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["own_git_configuration"]  # a fixture for every test here


@pytest.fixture
def ciwm(capsys: pytest.CaptureFixture[str]) -> Ciwm:
    """`ciwm -C PATH sync-report ...`, in this process."""
    return Ciwm(capsys)


@pytest.fixture
def fork(tmp_path: Path) -> Scene:
    """A small fork that conflicts with its upstream in a.txt."""
    return fork_with_upstream(tmp_path / "fork")
