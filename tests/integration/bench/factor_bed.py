"""Four revisions of one fork: before, upstream alone, our patches alone, and together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fork import git
from tests.integration.bench.test_bench_command import Two

if TYPE_CHECKING:
    import pytest

    from tests.fork import Fork

REVISIONS = ["main", "upstream", "ours", "both"]


def four(fork: Fork, monkeypatch: pytest.MonkeyPatch, *, upstream: str, ours: str) -> Two:
    """The branches, each with its own framework/upstream.py and ours.py; the fork is entered."""
    fork.commit({"framework/upstream.py": upstream}, branch="upstream")
    git(fork.path, "switch", "-q", "main")
    fork.commit({"framework/ours.py": ours}, branch="ours")
    git(fork.path, "switch", "-q", "-c", "both")
    git(fork.path, "merge", "-q", "-m", "sync", "upstream")
    monkeypatch.chdir(fork.path)
    return Two(fork)
