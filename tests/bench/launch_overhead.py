"""What the guard costs: `run_logged` beside a bare Popen, in turns, medians of one run.

python tests/bench/launch_overhead.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.proc import run_logged

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 50


def main() -> None:
    """Print both medians and their difference."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"

        def bare() -> None:
            with log.open("ab") as sink:
                subprocess.Popen(["true"], stdout=sink, stderr=sink, start_new_session=True).wait()

        def guarded() -> None:
            run_logged(["true"], log=log, cwd=Path(folder), env=os.environ, timeout_s=60)

        times: dict[str, list[float]] = {"bare": [], "guarded": []}
        for _ in range(ROUNDS):
            times["bare"].append(_timed(bare))
            times["guarded"].append(_timed(guarded))
    medians_ms = {name: statistics.median(taken) * 1000 for name, taken in times.items()}
    added_ms = medians_ms["guarded"] - medians_ms["bare"]
    print(f"bare Popen {medians_ms['bare']:.1f} ms, run_logged {medians_ms['guarded']:.1f} ms")
    print(f"the guard adds {added_ms:.1f} ms (median of {ROUNDS}; target: under 40 ms)")


def _timed(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
