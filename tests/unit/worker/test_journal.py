"""What the worker's journal does when the disk takes only a part of a line."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# a line of 200 characters, where a file may have 100 bytes: the first write is a short one
WRITE = """
from ciwm.worker.journal import Journal
Journal({path!r}).write("line", text="x" * 200)
"""


def test_a_line_that_fits_in_part_is_an_error_and_not_lost_in_silence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITE.format(path=str(tmp_path / "journal"))],
        cwd=ROOT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        capture_output=True,
        text=True,
        check=False,
    )

    assert "OSError: [Errno 27] File too large" in done.stderr
