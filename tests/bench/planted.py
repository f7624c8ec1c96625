"""A real `ciwm bench` and `ciwm gate` on a C kernel and a torch step, with planted slowdowns.

python -m tests.bench.planted RESULTS.jsonl [--first K] [--seeds N] [--minutes M] [--quiet] [NAME]

Head does 0, 3, 5 or 10 % more of the same work, N times each with another seed, while a second
process loads the machine (not with --quiet). Every result is a line of RESULTS.jsonl at once; what
is there already is not run again, and none is begun that would not end within M minutes: call it
until it says that nothing is left. Prints the table for docs/measured/gate.md.

Two at once (--quiet, one with --seeds 10, one with --first 11, each with a CIWM_LOCK_DIR of its
own, or they take turns) are each the other's second process, and take half the time.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from ciwm.cli import run as ciwm
from tests.bench.rivals.collect import loaded
from tests.fork import git, new_fork

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.fork import Fork

WORKLOADS = ("kernel", "torch")
PLANTED = (0, 3, 5, 10)
LONGEST_S = 240.0  # of one run, where none is known yet
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


@dataclass(frozen=True)
class Result:
    """What the gate said of one run: `seen` is head/base, None where nothing was compared."""

    workload: str
    percent: int
    seed: int
    outcome: str
    launches: int
    seen: float | None
    took_s: float

    @property
    def key(self) -> tuple[int, str, int]:
        """What identifies it."""
        return (self.seed, self.workload, self.percent)


def read_results(path: Path) -> list[Result]:
    """The results so far; a last line that a kill left unfinished does not count."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError, TypeError):
            found.append(Result(**json.loads(line)))
    return found


def missing(
    done: Sequence[Result], workloads: Sequence[str], seeds: range
) -> Iterator[tuple[int, str, int]]:
    """Seed, workload and percent of what was not run yet; every size once before any twice."""
    have = {one.key for one in done}
    for seed in seeds:
        for workload in workloads:
            for percent in PLANTED:
                if (seed, workload, percent) not in have:
                    yield seed, workload, percent


def measured(fork: Fork, seed: int, workload: str, percent: int) -> Result:
    """Bench and gate one head; raises SystemExit where the bench itself does not run."""
    began = time.monotonic()
    out = fork.runs / f"{workload}-{percent}-{seed}"
    options = ["-C", str(fork.path), "bench", "main", f"head{percent}", "-w", workload]
    with contextlib.redirect_stdout(io.StringIO()):
        if ciwm([*options, "--seed", str(seed), "--out", str(out)]) != 0:
            raise SystemExit(f"the bench of {workload} +{percent} % did not run: try again")
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        ciwm(["-C", str(fork.path), "gate", str(out), "--json"])
    (series,) = json.loads(told.getvalue())["series"]
    return Result(
        workload=workload,
        percent=percent,
        seed=seed,
        outcome=series["outcome"],
        launches=series["launches"]["base"],
        seen=series["ratio"],
        took_s=time.monotonic() - began,
    )


def collect(path: Path, workloads: Sequence[str], seeds: range, minutes: float) -> int:
    """Run what is missing as long as there is time, a line each; how many are left."""
    ends, done = time.monotonic() + 60 * minutes, read_results(path)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["CIWM_CACHE_DIR"] = f"{scratch}/cache"
        fork = new_fork(Path(scratch))
        fork.commit(FILES)
        for percent in PLANTED:
            git(fork.path, "switch", "-q", "-C", f"head{percent}", "main")
            fork.commit({"framework/__init__.py": f"UNITS = {100 + percent}\n# {percent}\n"})
        for seed, workload, percent in missing(done, workloads, seeds):
            longest_s = max((one.took_s for one in done), default=LONGEST_S)
            if time.monotonic() + longest_s > ends:
                break
            result = measured(fork, seed, workload, percent)
            done.append(result)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")
            print(f"{workload} +{percent} % seed {seed}: {result.outcome}", file=sys.stderr)
    return sum(1 for _ in missing(done, workloads, seeds))


def table(results: Sequence[Result]) -> str:
    """A row for each workload and size: how often which outcome, launches a side, what was seen."""
    lines = [
        "| workload | planted | runs | blocked | passed | undecided | launches a side | seen |",
        "|--|--|--|--|--|--|--|--|",
    ]
    for workload in dict.fromkeys(one.workload for one in results):
        for percent in PLANTED:
            own = [one for one in results if (one.workload, one.percent) == (workload, percent)]
            if own:
                lines.append(f"| {workload} | {_row(percent, own)} |")
    return "\n".join(lines)


def _row(percent: int, own: Sequence[Result]) -> str:
    outcomes = Counter(one.outcome for one in own)
    passed = outcomes["unchanged"] + outcomes["improved"]
    blocked = len(own) - passed - outcomes["inconclusive"] - outcomes["void"]
    undecided = f"{outcomes['inconclusive']}" + (
        f" (and {outcomes['void']} void)" if outcomes["void"] else ""
    )
    seen = sorted(100 * (one.seen - 1) for one in own if one.seen is not None)
    ends = f"{median(seen):+.1f} % ({seen[0]:+.1f} to {seen[-1]:+.1f})" if seen else "-"
    launches = f"{fmean(one.launches for one in own):.1f}"
    planted = f"+{percent} %" if percent else "none"
    return " | ".join(
        (planted, str(len(own)), str(blocked), str(passed), undecided, launches, ends)
    )


def main() -> None:
    """Read the command line, run a piece, and print the table of all pieces."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the neighbour is ended, too
    parser = argparse.ArgumentParser(prog="python -m tests.bench.planted")
    parser.add_argument("results", type=Path)
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD")
    parser.add_argument("--seeds", type=int, default=20, help="the last one")
    parser.add_argument("--first", type=int, default=1, help="the first one")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--quiet", action="store_true", help="no second process")
    asked = parser.parse_intermixed_args()
    unknown = set(asked.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no workload {unknown.pop()!r}: there are {', '.join(WORKLOADS)}")
    with contextlib.nullcontext() if asked.quiet else loaded():
        seeds = range(asked.first, asked.seeds + 1)
        left = collect(asked.results, asked.workloads, seeds, asked.minutes)
    print(table(read_results(asked.results)))
    print(f"{left} runs left: call it again" if left else "nothing left", file=sys.stderr)


if __name__ == "__main__":
    main()
