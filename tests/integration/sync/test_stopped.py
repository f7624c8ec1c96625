"""A report that is stopped leaves nothing of its own behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import INTERRUPTED

if TYPE_CHECKING:
    from tests.integration.sync.git_scene import Scene

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_report_that_is_stopped_in_a_trial_merge_removes_its_objects(
    fork: Scene, tmp_path: Path, number: signal.Signals
) -> None:
    bin_, temporary, mark = tmp_path / "bin", tmp_path / "temporary", tmp_path / "mark"
    bin_.mkdir()
    temporary.mkdir()
    slow = bin_ / "git"
    slow.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *merge-tree*) echo > {mark}; exec sleep 5;; esac\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    slow.chmod(0o755)
    variables = {
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(temporary),
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "ciwm", "sync-report", "upstream/main", "--offline"]
    with subprocess.Popen(
        command, cwd=fork.path, env={**os.environ, **variables}, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + PATIENCE_S
        while not mark.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [path.name[:13] for path in temporary.iterdir()] == ["ciwm-objects-"]
        process.send_signal(number)
        _, words = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == INTERRUPTED, words
    assert list(temporary.iterdir()) == []
