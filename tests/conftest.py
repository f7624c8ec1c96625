"""What all tests share."""

from __future__ import annotations

import os
import signal
import tempfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ("tests.github_bed.fixtures", "tests.nvml")


_CACHE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """No test may use the cache of the person who runs it, and signals reach the children.

    Children inherit ignored signals: under nohup, or in the background, some would be deaf."""
    folder = tempfile.TemporaryDirectory(prefix="ciwm-tests-", ignore_cleanup_errors=True)
    config.stash[_CACHE] = folder  # what fixtures of a whole module or session use
    os.environ["CIWM_CACHE_DIR"] = folder.name
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove it."""
    config.stash[_CACHE].cleanup()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this test alone; made when something is kept in it."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("CIWM_CACHE_DIR", str(folder))
    return folder
