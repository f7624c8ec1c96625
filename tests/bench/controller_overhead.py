"""What the controller adds to a launch: `run_launch` beside the worker started by hand, by turns.

python tests/bench/controller_overhead.py

Both run the same job of a few empty steps. The controller's part is the job file, the guard, the
sampler's readings, the journal read back, and the record written down.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from ciwm.launch.sampling import sampler
from ciwm.launch.worker_job import ENTER, JOB, Order, Site, command, environment
from ciwm.launch.worker_process import Limits, run_launch
from tests.fork import new_fork, workload

ROUNDS, LIMIT_MS = 20, 60


def main() -> None:
    """Print both medians and their difference."""
    with tempfile.TemporaryDirectory() as name:
        os.environ |= {"CIWM_CACHE_DIR": f"{name}/cache", "CIWM_LOCK_DIR": f"{name}/locks"}
        fork = new_fork(Path(name))
        base = fork.repository.revision("HEAD")
        request = fork.request(base, base, directory=fork.runs / "run")
        run = fork.measure(request)
        assert run.complete
        site = Site(
            directory=(fork.runs / "run").resolve(),
            checkout=fork.path,
            builds={"base": request.base, "head": request.head},
            sources={side: fork.runs / "run" / "workloads" / side for side in ("base", "head")},
            python_path=(".",),
        )
        taken: dict[str, list[float]] = {"by hand": [], "controller": []}
        with sampler((), 10) as watching:
            for number in range(100, 100 + ROUNDS):
                order = Order(number, workload(), "head", 0, 0, 0)
                limits = Limits(left_s=60, stop=threading.Event(), sampler=watching)
                began = time.perf_counter()
                launch, _ = run_launch(order, site, limits)
                taken["controller"].append(time.perf_counter() - began)
                assert launch.exit == "ok", launch
                taken["by hand"].append(by_hand(order, site))
    medians = {name: statistics.median(values) * 1000 for name, values in taken.items()}
    added = medians["controller"] - medians["by hand"]
    print(f"worker by hand {medians['by hand']:.1f} ms, run_launch {medians['controller']:.1f} ms")
    print(f"the controller adds {added:.1f} ms a launch (median of {ROUNDS}; limit {LIMIT_MS})")


def by_hand(order: Order, site: Site) -> float:
    """Seconds of the same worker, started without anything around it."""
    folder = site.directory / order.folder
    (folder / "by-hand.jsonl").unlink(missing_ok=True)
    job = json.loads((folder / JOB).read_text())
    (folder / "by-hand.json").write_text(json.dumps(job))
    argv = [command(order, site, folder)[0], str(ENTER)]
    argv += ["--job", str(folder / "by-hand.json"), "--journal", str(folder / "by-hand.jsonl")]
    began = time.perf_counter()
    subprocess.run(argv, env=environment(order, site), check=True, cwd=folder)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
