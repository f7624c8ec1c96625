"""Start-up: `ciwm --help` against a bare interpreter, median of 20, in one run.

python tests/bench/help_start.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time


def median_s(command: list[str], times: int = 20) -> float:
    """Median wall time of a command, in seconds."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


if __name__ == "__main__":
    bare_s = median_s([sys.executable, "-c", "pass"])
    help_s = median_s([sys.executable, "-m", "ciwm", "--help"])
    print(
        f"python -c pass {bare_s * 1e3:.0f} ms, ciwm --help {help_s * 1e3:.0f} ms, "
        f"ratio {help_s / bare_s:.1f}"
    )
