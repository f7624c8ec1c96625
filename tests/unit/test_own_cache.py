"""No test, and no child of one, may touch the cache of the person who runs the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ciwm.launch.cache import cache_root

ROOT = Path(__file__).parents[2]
ASKED = "from ciwm.launch.cache import cache_root; print(cache_root())"


def test_every_test_has_a_cache_of_its_own(tmp_path: Path) -> None:
    assert cache_root() == tmp_path / "cache"


def test_its_children_have_the_same(tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", ASKED], env=variables, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()) == tmp_path / "cache"
