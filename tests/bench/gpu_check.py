"""One check of everything that takes an NVIDIA card: under eight minutes, one machine, one script.

python -m tests.bench.gpu_check [--out FOLDER] [--python PYTHON]

PYTHON is an interpreter with a torch that sees the card (default: this one); this one needs what
`pip install .` brings, and a C compiler is not needed. On a machine without a network, bring them:

    pip install --target deps .            # on a machine of the same kind that has one
    PYTHONPATH=deps:. python -m tests.bench.gpu_check --out OUT

What it does, each part within its own time: probes the card; measures a torch step against itself
and against one that does 5 % more; asks what the card did meanwhile, by NVML and by torch's
allocator; holds the clock low and sees it kept and given back (where that is allowed); puts another
process on the card and sees launches voided; times the sampler over the real driver. FOLDER gets
`summary.md` (to be kept under docs/measured/) and the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from ciwm.devices import visible_cards
from ciwm.records import Run, read_record
from ciwm.records.probe import Probes
from ciwm.report.figures import quantity, rate
from tests.bench.sampler_cost import HZ, share
from tests.fork import Fork, git, new_fork

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.records import Accelerator

ROOT = Path(__file__).resolve().parents[2]
PLANTED_PCT, UNITS = 5, 40
LOW_CLOCK = 0.6  # of the highest
STEPS = """
import torch, framework
def setup():
    torch.manual_seed(0)
    return torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16) / 64
def step(x):
    y = x
    for _ in range(framework.UNITS):
        y = y @ x
"""
CONFIG = """
[build]
python = {python}
[[workload]]
id = "torch"
python = "bench/steps.py:step"
[workload.metrics]
step_time = {{ unit = "s", better = "lower" }}
peak_device_memory = {{ unit = "MiB", better = "lower" }}
[gate]
budget = "150s"
{more}
"""
OTHER = "import torch; x = torch.ones(1 << 20, device='cuda'); print(1, flush=True); input()"


@dataclass
class Check:
    """The parts, one after another, and what they found."""

    out: Path
    python: str
    fork: Fork
    lines: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        print(text, flush=True)
        self.lines.append(text)

    def part(self, title: str, work: Callable[[], None]) -> None:
        """A part whose failure is told, and keeps no other from being tried."""
        began = time.monotonic()
        self.say(f"\n## {title}\n")
        try:
            work()
        except Exception as error:  # noqa: BLE001  a check tells what it meets, and goes on
            self.say(f"FAILED: {type(error).__name__}: {' '.join(str(error).split())[:500]}")
        self.say(f"\n({time.monotonic() - began:.0f} s)")
        (self.out / "summary.md").write_text("\n".join(self.lines).strip() + "\n")

    def bench(self, name: str, percent: int, more: str = "", launches: int = 16) -> Run:
        """Measure main against a head that does so much more."""
        config = CONFIG.format(python=json.dumps(self.python), more=more)
        git(self.fork.path, "switch", "-q", "-C", "head", "main")
        units = UNITS + UNITS * percent // 100
        head = {"framework/__init__.py": f"UNITS = {units}\n# {name}\n", "ciwm.toml": config}
        self.fork.commit(head)
        out = self.out / name
        called = self.ciwm("bench", "main", "head", "--max-launches", str(launches), "--out", out)
        if called.returncode != 0:
            raise RuntimeError(called.stderr.strip().splitlines()[-3:])
        return read_record(out / "run.json", Run)

    def ciwm(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """A call of ciwm in the fork."""
        return subprocess.run(
            [sys.executable, "-m", "ciwm", *map(str, arguments)],
            cwd=self.fork.path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    def verdict(self, name: str) -> list[dict[str, Any]]:
        """What the gate says of a run."""
        told = json.loads(self.ciwm("gate", self.out / name, "--json").stdout)
        for problem in told["problems"]:
            self.say(f"- {problem}")
        series: list[dict[str, Any]] = told["series"]
        return series


def main() -> None:
    """Run all parts and leave the summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "gpu-check")))
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    cards = visible_cards()
    if not cards:
        raise SystemExit("no NVIDIA card is visible here: see nvidia-smi")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"CIWM_CACHE_DIR": f"{scratch}/cache", "CIWM_LOCK_DIR": f"{scratch}/locks"}
        fork = new_fork(Path(scratch))
        fork.commit(
            {
                "framework/__init__.py": f"UNITS = {UNITS}\n",
                "bench/steps.py": STEPS,
                "ciwm.toml": "",
            }
        )
        check = Check(out, options.python, fork)
        check.say(f"# {len(cards)} x {cards[0].name}, driver {cards[0].driver}")
        check.part("Probes", lambda: probes(check))
        check.part("A step against itself", lambda: compared(check, "a-a", 0))
        check.part(f"A step that does {PLANTED_PCT} % more", lambda: compared(check, "planted", 5))
        check.part("A clock that is held", lambda: held(check, cards[0]))
        check.part("Another process on the card", lambda: beside(check))
        check.part("The sampler over the real driver", lambda: sampler(check, cards))


def probes(check: Check) -> None:
    """What the card can do at best."""
    done = check.ciwm("probe", "--python", check.python, "--json")
    (check.out / "probes.json").write_text(done.stdout)
    found = read_record(check.out / "probes.json", Probes)
    check.say("| accelerator | probe | median |\n|--|--|--|")
    for one in found.figures:
        check.say(f"| {one.accelerator} | {one.name} | {rate(one.median, one.unit)} |")
    for said in found.unprobed:
        check.say(f"- not probed: {said}")


def compared(check: Check, name: str, percent: int) -> None:
    """Outcome, launches and ratio, and what the card did meanwhile."""
    run = check.bench(name, percent)
    for one in check.verdict(name):
        count = one["launches"]
        check.say(
            f"{one['metric']}: **{one['outcome']}**, head/base {one['ratio']}, "
            f"{count['base']}+{count['head']} launches, evidence {one['evidence']}: {one['reason']}"
        )
    meanwhile(check, run)


def meanwhile(check: Check, run: Run) -> None:
    """The telemetry of a run in a few lines."""
    windows = [window for one in run.launches for window in one.telemetry]
    clocks = [one.sm_clock_busy_mhz for one in windows if one.sm_clock_busy_mhz is not None]
    if clocks:
        check.say(
            f"- SM clock at work {min(clocks)} to {max(clocks)} MHz (median {median(clocks):.0f}) "
            f"over {len(clocks)} of {len(run.launches)} launches"
        )
    reasons = sorted({reason for one in windows for reason in one.throttle_reasons})
    foreign = {pid for one in windows for pid in one.foreign_pids}
    passed = {pid for one in windows for pid in one.unattributed_pids}
    check.say(f"- reasons seen: {', '.join(reasons) or 'none'}")
    check.say(f"- foreign processes {len(foreign)}, unattributed {len(passed)}")
    power = [one.power_max_w for one in windows if one.power_max_w is not None]
    heat = [one.temperature_max_c for one in windows if one.temperature_max_c is not None]
    if power and heat:
        check.say(f"- at most {max(power):.0f} W and {max(heat)} C")
    by_nvml = [one.memory_max_bytes for one in windows if one.memory_max_bytes is not None]
    by_torch = [
        value
        for one in run.launches
        for samples in one.samples
        if samples.metric == "peak_device_memory"
        for value in samples.values
    ]
    if by_nvml and by_torch:
        check.say(
            f"- peak memory {quantity(max(by_nvml), 'B')} by NVML (context and all), "
            f"{max(by_torch):.0f} MiB by torch's allocator"
        )
    problems = {one.telemetry_problem for one in run.launches if one.telemetry_problem}
    check.say(f"- problems of the telemetry: {'; '.join(sorted(problems)) or 'none'}")


def held(check: Check, card: Accelerator) -> None:
    """A low clock: kept during the launches, and given back at the end."""
    highest = card.max_sm_clock_mhz or 1500
    low = int(highest * LOW_CLOCK) // 15 * 15
    more = f'[gate.void]\nclock_band = "3%"\n[bench]\nlock_clocks = {low}\n'
    try:
        run = check.bench("held", 0, more, launches=4)
    except RuntimeError as error:
        check.say(f"not allowed here: {error}")
        return
    meanwhile(check, run)
    clocks = [w.sm_clock_busy_mhz for one in run.launches for w in one.telemetry]
    check.say(f"asked for {low} MHz, at work {clocks}; highest {highest} MHz")
    again = check.bench("given-back", 0, launches=4)
    clocks = [w.sm_clock_busy_mhz for one in again.launches for w in one.telemetry]
    check.say(f"after it was given back: {clocks}")


def beside(check: Check) -> None:
    """Another process with a context on the card voids every launch."""
    other = subprocess.Popen(
        [check.python, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    other.stdout.readline()
    try:
        run = check.bench("beside", 0, launches=4)
    finally:
        other.communicate("\n")
    check.say(f"pid {other.pid} held a context")
    for one in check.verdict("beside"):
        check.say(f"{one['metric']}: {one['outcome']}: {one['reason']}")
    meanwhile(check, run)


def sampler(check: Check, cards: list[Accelerator]) -> None:
    """CPU time of the sampler over its wall time."""
    used = share(check.out / "sampler", tuple(cards), 10.0)
    check.say(f"{used:.2%} of one core at {HZ:g} Hz, {len(cards)} cards")


if __name__ == "__main__":
    main()
