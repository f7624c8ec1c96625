"""One check of everything that takes an NVIDIA card: under eight minutes, one machine, one script.

python -m tests.bench.gpu_check [--out FOLDER] [--python PYTHON]

PYTHON is an interpreter with a torch that sees the card (default: this one); this one needs what
`pip install .` brings, and a C compiler is not needed. On a machine without a network, bring them:

    pip install --target deps .            # on a machine of the same kind that has one
    PYTHONPATH=deps:. python -m tests.bench.gpu_check --out OUT

What it does, each part within its own time: names the cards and their links; times each call of the
driver, and the sampler over it; probes the cards; measures a torch step against itself and against
one that does 5 % more; asks what the card did meanwhile, by NVML and by torch's allocator; puts
another process on the card and sees launches voided; holds the clock low and sees it kept and given
back (where that is allowed). FOLDER gets the runs, and `summary.md` (to be kept under
docs/measured/).

`--device cpu` goes the same way with a small step of torch on the CPU, to try the script over the
stand-in of NVML: its figures say nothing.
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

from ciwm.bench.link_peak import link_peak
from ciwm.devices import describe_host, visible_cards
from ciwm.devices.nvidia_meter import NvidiaMeter
from ciwm.records import Run, read_record
from ciwm.records.probe import Probes
from ciwm.report.figures import quantity, rate
from tests.bench.sampler_cost import HZ, share
from tests.fork import Fork, git, new_fork

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.records import Accelerator

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S, LEAST_S = 465.0, 20.0  # of all parts; what a part must have left to be tried
# a step of some 12 ms on an H100: in the 60 of a launch the sampler reads the clock several times
PLANTED_PCT, UNITS = 5, 400
SIZE = {"cuda": 2048, "cpu": 32}
PROBES_S = 90.0
LOW_CLOCK = 0.6  # of the highest
CALLS = 100  # of the driver, of each kind
STEPS = """
import torch, framework
def setup():
    torch.manual_seed(0)
    size = {size}  # a product keeps the scale: the numbers neither vanish nor grow
    return torch.randn(size, size, device="{device}", dtype=torch.bfloat16) / size ** 0.5
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
{memory}
[gate]
budget = "{budget_s:.0f}s"
{more}
"""
MEMORY = 'peak_device_memory = { unit = "MiB", better = "lower" }'
OTHER = "import torch; x = torch.ones(1 << 20, device='cuda'); print(1, flush=True); input()"


@dataclass
class Check:
    """The parts, one after another, and what they found."""

    out: Path
    python: str
    device: str
    fork: Fork
    lines: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def left_s(self) -> float:
        return LIMIT_S - (time.monotonic() - self.began)

    def say(self, text: str) -> None:
        print(text, flush=True)
        self.lines.append(text)

    def part(self, title: str, work: Callable[[], None]) -> None:
        """A part whose failure is told, and keeps no other from being tried."""
        began = time.monotonic()
        self.say(f"\n## {title}\n")
        try:
            if self.left_s < LEAST_S:
                raise TimeoutError(f"not tried: {LIMIT_S:.0f} s are over")  # noqa: TRY301
            work()
        except Exception as error:  # noqa: BLE001  a check tells what it meets, and goes on
            self.say(f"FAILED: {type(error).__name__}: {' '.join(str(error).split())[:500]}")
        self.say(f"\n({time.monotonic() - began:.0f} s)")
        (self.out / "summary.md").write_text("\n".join(self.lines).strip() + "\n")

    def bench(
        self, name: str, percent: int, more: str = "", launches: int = 16, budget_s: float = 60
    ) -> Run:
        """Measure main against a head that does so much more."""
        config = CONFIG.format(
            python=json.dumps(self.python),
            memory=MEMORY if self.device == "cuda" else "",
            budget_s=min(budget_s, max(self.left_s - LEAST_S / 2, 1)),
            more=more,
        )
        git(self.fork.path, "switch", "-q", "-C", "head", "main")
        units = UNITS + UNITS * percent // 100
        head = {"framework/__init__.py": f"UNITS = {units}\n# {name}\n", "ciwm.toml": config}
        self.fork.commit(head)
        out = self.out / name
        called = self.ciwm("bench", "main", "head", "--max-launches", str(launches), "--out", out)
        if called.returncode != 0:
            raise RuntimeError(" / ".join(called.stderr.strip().splitlines()[-3:]))
        run = read_record(out / "run.json", Run)
        ended = [one.detail for one in run.launches if one.exit != "ok"]
        self.say(f"- {len(run.launches)} launches; {run.stopped_because}")
        if ended:
            self.say(f"- {len(ended)} launches did not end well: {ended[0]}")
        return run

    def ciwm(self, *arguments: object, limit_s: float = 400) -> subprocess.CompletedProcess[str]:
        """A call of ciwm in the fork."""
        return subprocess.run(
            [sys.executable, "-m", "ciwm", *map(str, arguments)],
            cwd=self.fork.path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])},
            capture_output=True,
            text=True,
            timeout=min(limit_s, max(self.left_s, LEAST_S)),
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
    parser.add_argument("--device", default="cuda", choices=sorted(SIZE))
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
                "bench/steps.py": STEPS.format(device=options.device, size=SIZE[options.device]),
                "ciwm.toml": "",
            }
        )
        check = Check(out, options.python, options.device, fork)
        check.say(f"# {len(cards)} x {cards[0].name}, driver {cards[0].driver}")
        check.part("Cards and links", lambda: links(check))
        check.part("Calls of the driver", lambda: calls(check, cards[0]))
        check.part("The sampler over the driver", lambda: sampler(check, cards))
        check.part("Probes", lambda: probes(check))
        check.part("A step against itself", lambda: compared(check, "a-a", 0, 90))
        planted = f"A step that does {PLANTED_PCT} % more"
        check.part(planted, lambda: compared(check, "planted", PLANTED_PCT, 150))
        check.part("Another process on the card", lambda: beside(check))
        check.part("A clock that is held", lambda: held(check, cards[0]))


def links(check: Check) -> None:
    """What NVML says the cards are and how they are connected, and the peak that makes."""
    host = describe_host()
    for card in host.accelerators:
        check.say(f"- {card.model_dump(exclude={'uuid'}, exclude_none=True)}")
    for line in host.topology:
        check.say(f"- {line}")
    if len(host.accelerators) > 1:
        peak = link_peak(host, len(host.accelerators))
        check.say(f"- NVLink {host.nvlink_mb_s} MB/s a link; peak {peak.gb_s} GB/s: {peak.source}")


def calls(check: Check, card: Accelerator) -> None:
    """What a call of the driver takes: wall and CPU time, the median of a hundred, one by one."""
    meter = NvidiaMeter(card.index, card.uuid)
    kinds: dict[str, Callable[[], Any]] = {
        "a reading": lambda: meter.read(thorough=False),
        "a thorough reading": lambda: meter.read(thorough=True),
        "processes": meter.processes,
        "XIDs": meter.events,
        "ECC counts": meter.errors,
        **meter.readers,
    }
    check.say("| asked | wall | CPU |\n|--|--|--|")
    for name, ask in kinds.items():
        taken = [timed(ask) for _ in range(CALLS)]
        wall_us, cpu_us = (median(one) * 1e6 for one in zip(*taken, strict=True))
        check.say(f"| {name} | {wall_us:.0f} us | {cpu_us:.0f} us |")
    for complaint in meter.complaints():
        check.say(f"- {complaint}")


def timed(ask: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a call: by the wall, and of the CPU."""
    wall, cpu = time.perf_counter(), time.thread_time()
    ask()
    return time.perf_counter() - wall, time.thread_time() - cpu


def probes(check: Check) -> None:
    """What the card can do at best."""
    done = check.ciwm("probe", "--python", check.python, "--json", limit_s=PROBES_S)
    (check.out / "probes.json").write_text(done.stdout)
    found = read_record(check.out / "probes.json", Probes)
    check.say("| accelerator | probe | median |\n|--|--|--|")
    for one in found.figures:
        check.say(f"| {one.accelerator} | {one.name} | {rate(one.median, one.unit)} |")
    for said in found.unprobed:
        check.say(f"- not probed: {said}")


def compared(check: Check, name: str, percent: int, budget_s: float) -> None:
    """Outcome, launches and ratio, and what the card did meanwhile."""
    run = check.bench(name, percent, budget_s=budget_s)
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
    seen = f"{len(clocks)} of {len(run.launches)} launches"
    if clocks:
        check.say(
            f"- SM clock at work {min(clocks)} to {max(clocks)} MHz (median {median(clocks):.0f}) "
            f"in {seen}"
        )
    else:
        check.say("- SM clock at work: seen in none of the launches, so clock_band judges none")
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
    for one in check.verdict("held"):
        check.say(f"{one['metric']}: {one['outcome']} (3 % off {low} MHz voids a launch)")
    again = check.bench("given-back", 0, launches=4)
    clocks = [w.sm_clock_busy_mhz for one in again.launches for w in one.telemetry]
    check.say(f"after it was given back: {clocks}")


def beside(check: Check) -> None:
    """Another process with a context on the card voids every launch."""
    if check.device != "cuda":
        check.say("not tried: no process has a context on a stand-in")
        return
    other = subprocess.Popen(
        [check.python, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    if not other.stdout.readline():
        raise RuntimeError(f"the other process ended with {other.wait()}")
    try:
        run = check.bench("beside", 0, launches=4)
    finally:
        other.communicate("\n")
    check.say(f"pid {other.pid} held a context")
    for one in check.verdict("beside"):
        check.say(f"{one['metric']}: {one['outcome']}: {one['reason']}")
    meanwhile(check, run)


def sampler(check: Check, cards: list[Accelerator]) -> None:
    """CPU time of the sampler over its wall time; what the driver does not tell."""
    folder = check.out / "sampler"
    used = share(folder, tuple(cards), 10.0)
    check.say(f"{used:.2%} of one core at {HZ:g} Hz, {len(cards)} cards")
    for line in (folder / "telemetry.jsonl").read_text().splitlines():
        told = json.loads(line)
        if told["kind"] == "problem":
            check.say(f"- accelerator {told.get('card')}: {told['what']}")


if __name__ == "__main__":
    main()
