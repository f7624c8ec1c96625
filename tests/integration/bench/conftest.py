from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.launch.builds import release_builds
from tests.fork import Fork, new_fork

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache and locks of this test's own."""
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CIWM_LOCK_DIR", str(tmp_path / "locks"))
    yield
    release_builds()


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    return new_fork(tmp_path)
