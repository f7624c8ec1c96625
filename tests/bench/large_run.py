"""A Run of 1,000 launches and 1,000,000 samples, written and read back: seconds, and memory.

python -m tests.bench.large_run          (limits: 5 s for both, 500 MB)
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

from ciwm.launch.files import write_atomically
from ciwm.records import Run, read_record
from tests.records_examples import large_run

LAUNCHES, SAMPLES = 1000, 1000


def main() -> None:
    """Print what both take, and the peak of this process."""
    run = large_run(LAUNCHES, SAMPLES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        began = time.perf_counter()
        write_atomically(path, run.to_json())
        written = time.perf_counter()
        again = read_record(path, Run)
        read = time.perf_counter()
        size_mb = path.stat().st_size / 1e6
    assert again == run
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(
        f"{LAUNCHES * SAMPLES:,} samples, {size_mb:.1f} MB: written in {written - began:.2f} s, "
        f"read in {read - written:.2f} s; peak {peak_mb:.0f} MB with both in memory"
    )


if __name__ == "__main__":
    main()
