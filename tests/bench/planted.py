"""A real `ciwm bench` and `ciwm gate` on a C kernel and a torch step, with planted slowdowns.

python -m tests.bench.planted [WORKLOAD ...]      (kernel and torch; ten minutes, most of it torch)

Head does 0, 2, 3, 5 or 10 % more of the same work. Prints what the gate says, and how many
launches a side it took, for docs/measured/gate.md.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

from ciwm.cli import run as ciwm
from tests.fork import git, new_fork

PLANTED = (0, 2, 3, 5, 10)
KERNEL = """
double work(long units) {
    double sum = 0;
    for (long unit = 0; unit < units; unit++)
        for (long i = 1; i < 20000; i++) sum += 1.0 / (double)(i * i + unit);
    return sum;
}
"""
CONFIG = """
[build]
command = "cc -O1 -shared -fPIC -o framework/kernel.so framework/kernel.c"
[[workload]]
id = "kernel"
python = "bench/kernel.py:step"
[[workload]]
id = "torch"
python = "bench/torch_step.py:step"
iterations = 60
[gate]
budget = "1h"
"""
FILES = {
    "framework/__init__.py": "UNITS = 100\n",
    "framework/kernel.c": KERNEL,
    "bench/kernel.py": (
        "import ctypes, pathlib, framework\n"
        "library = ctypes.CDLL(str(pathlib.Path(framework.__file__).with_name('kernel.so')))\n"
        "library.work.restype, library.work.argtypes = ctypes.c_double, [ctypes.c_long]\n"
        "def step(): library.work(framework.UNITS)\n"
    ),
    "bench/torch_step.py": (
        "import torch, framework\n"
        "torch.set_num_threads(1)\n"
        "model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())\n"
        "batch = torch.randn(16, 64)\n"
        "def step():\n"
        "    for _ in range(framework.UNITS):\n"
        "        model(batch).sum().backward()\n"
    ),
    "ciwm.toml": CONFIG,
}


def planted(folder: Path, workload: str) -> list[tuple[int, str, int, float]]:
    """Percent planted, outcome, launches a side and ratio seen, for each slowdown."""
    fork = new_fork(folder)
    fork.commit(FILES)
    found = []
    for percent in PLANTED:
        git(fork.path, "switch", "-q", "-C", "head", "main")
        fork.commit({"framework/__init__.py": f"UNITS = {100 + percent}\n# {percent}\n"})
        out = fork.runs / f"{workload}-{percent}"
        options = ["-C", str(fork.path), "bench", "main", "head", "-w", workload]
        with contextlib.redirect_stdout(io.StringIO()):
            if ciwm([*options, "--out", str(out)]) != 0:
                raise SystemExit(f"the bench of {workload} +{percent} % did not run")
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            ciwm(["-C", str(fork.path), "gate", str(out), "--json"])
        (series,) = json.loads(told.getvalue())["series"]
        found.append((percent, series["outcome"], series["launches"]["base"], series["ratio"]))
    return found


if __name__ == "__main__":
    names = sys.argv[1:] or ["kernel", "torch"]
    print("| workload | planted | outcome | launches a side | seen |\n|--|--|--|--|--|")
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["CIWM_CACHE_DIR"] = f"{scratch}/cache"
            for percent, outcome, launches, ratio in planted(Path(scratch), name):
                seen = f"{100 * (ratio - 1):+.1f} %"
                print(f"| {name} | +{percent} % | {outcome} | {launches} | {seen} |", flush=True)
