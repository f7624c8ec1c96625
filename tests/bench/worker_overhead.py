"""The worker's timing of a C kernel against a bare loop's, and what it costs an empty step.

python tests/bench/worker_overhead.py
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ENTER = Path(__file__).resolve().parents[2] / "ciwm" / "worker" / "enter.py"
ROUNDS, ITERATIONS, EMPTY = 25, 300, 200_000
END = 7  # from either side: 95.7 % by the binomial distribution of 25 signs
KERNEL = """double work(double *x, int n, int rounds) {
    double sum = 0;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < n; i++) sum += x[i] * 1.0000001;
    return sum;
}
"""
STEP = """import ctypes, pathlib
kernel = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
def setup(): return (ctypes.c_double * 1000)()
def step(x): kernel.work(x, 1000, 1000)
"""
BARE = """import sys, time
sys.path.insert(0, sys.argv[1])
import kernel_step
x, step, taken = kernel_step.setup(), kernel_step.step, []
end = time.monotonic() + 0.2
while time.monotonic() < end: step(x)
for _ in range(int(sys.argv[2])):
    start = time.perf_counter_ns(); step(x); taken.append(time.perf_counter_ns() - start)
print(sorted(taken)[len(taken) // 2] / 1e9)
"""


def worker_s(folder: Path, file: str, iterations: int) -> tuple[list[float], float]:
    """The samples of one worker, and its CPU time, in seconds."""
    job, journal = folder / "job.json", folder / "journal.jsonl"
    journal.unlink(missing_ok=True)
    schedule = {
        "iterations": iterations,
        "warmup_iterations": 1,
        "warmup_s": 0.2,
        "time_metric": "step_time",
        "time_scale": 1.0,
        "reported": [],
    }
    described = {
        "kind": "bench",
        "side": "base",
        "file": str(folder / file),
        "callable": "step",
        "path": [str(folder)],
        "own": [str(folder)],
        "build": str(folder),
        "foreign": {},
        "series": [{"series": "w", "params": {}}],
        "schedule": schedule,
    }
    job.write_text(json.dumps(described))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, str(ENTER), "--job", str(job), "--journal", str(journal)]
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    return [v for line in lines if line["kind"] == "samples" for v in line["values"]], used_s


def bare_s(folder: Path) -> float:
    """The median of a loop around the same step, in seconds."""
    command = [sys.executable, "-c", BARE, str(folder), str(ITERATIONS)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print both ratios, worker and bare loop taking turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernel.c").write_text(KERNEL)
        (folder / "kernel_step.py").write_text(STEP)
        (folder / "empty.py").write_text("def step(): pass\n")
        library = ["-o", str(folder / "kernel.so"), str(folder / "kernel.c")]
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", *library], check=True)
        pairs = [
            (statistics.median(worker_s(folder, "kernel_step.py", ITERATIONS)[0]), bare_s(folder))
            for _ in range(ROUNDS)
        ]
        ratios = sorted(worker / bare for worker, bare in pairs)
        few_s, many_s = (worker_s(folder, "empty.py", n)[1] for n in (1, EMPTY))
    print(
        f"worker / bare loop {statistics.median(ratios):.4f}, 95 % interval {ratios[END]:.4f} to "
        f"{ratios[-1 - END]:.4f} ({ROUNDS} pairs of processes); "
        f"an empty step costs {(many_s - few_s) / EMPTY * 1e9:.0f} ns of CPU time (limit 1000)"
    )


if __name__ == "__main__":
    main()
