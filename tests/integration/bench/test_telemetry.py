"""What cards do beside launches: read through the real binding, and what comes of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run as ciwm
from ciwm.records import Run, read_record
from tests.need import missing
from tests.nvml import HW_THERMAL, POWER_CAP, Cards, cards_at_work

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.records import Launch
    from tests.fork import Fork

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
[[workload]]
id = "w"
python = "bench/steps.py:step"
iterations = 3
warmup_iterations = 0
warmup_s = 0
[gate]
max_launches = 4
[bench]
telemetry_hz = 20
"""
# The workload takes part: `seen(text)` returns once the sampler has written that down of this
# launch, and `card(...)` changes what the card does from now on.
STEPS = """
import json, os, pathlib, subprocess, sys, time
import framework
PLACE = pathlib.Path({place!r})
OUT = pathlib.Path(open("/proc/self/cmdline").read().split("\\0--job\\0")[1].split("\\0")[0]).parent
LAUNCH = int(OUT.name[:4])
def lines():
    path = OUT / "telemetry.jsonl"
    return path.read_text().splitlines() if path.exists() else []
def seen(text, times=1):
    began = time.monotonic()
    while sum(text in line for line in lines()) < times:
        assert time.monotonic() - began < 100, lines()
        time.sleep(0.01)
def card(**values):
    state = PLACE / "nvml.state"
    kept = [line for line in state.read_text().splitlines()
            if line.split()[0].partition(".")[2] not in values]
    kept += ["0.%s %s" % pair for pair in values.items()]
    draft = PLACE / ("draft-%d" % os.getpid())
    draft.write_text("\\n".join(kept) + "\\n")
    draft.replace(state)
def setup():
    seen('"host"')
    plant()
def step(_state): framework.work()
"""


@dataclass(frozen=True)
class Bed:
    """A fork with two branches, cards, and a workload that may do something to them."""

    fork: Fork
    cards: Cards

    @property
    def out(self) -> Path:
        return self.fork.runs / "run"

    def planted(self, plant: str, config: str = "") -> None:
        """Have each launch do this once the sampler watches it; LAUNCH is its number from 1."""
        body = "".join(f"    {line}\n" for line in plant.splitlines())
        steps = STEPS.format(place=str(self.cards.state.parent)) + f"def plant():\n{body}"
        self.fork.commit({"bench/steps.py": steps, "ciwm.toml": CONFIG + config})
        self.fork.commit({"framework/new.py": ""}, branch="sync")

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "ciwm", "bench", "main", "sync", "--out", str(self.out)],
            cwd=self.fork.path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **self.cards.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, plant: str = "pass", config: str = "") -> tuple[Run, str]:
        """The run of a bench, and all that it said."""
        self.planted(plant, config)
        child = self.start()
        stdout, stderr = child.communicate(timeout=250)
        assert child.returncode == 0, stderr
        return read_record(self.out / "run.json", Run), stdout + stderr

    def lines(self, launch: Launch) -> list[dict[str, Any]]:
        """What the sampler wrote beside a launch."""
        path = (self.out / launch.log).parent / "telemetry.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def bed(
    fork: Fork, nvml_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bed]:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.chdir(fork.path)
    yield Bed(fork, cards_at_work(nvml_library, tmp_path))
    for path in tmp_path.glob("runs/run/launches/*/telemetry.jsonl"):
        assert not alive(json.loads(path.read_text().splitlines()[0])["pid"])


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def told_by_gate(bed: Bed, capsys: pytest.CaptureFixture[str]) -> str:
    ciwm(["gate", str(bed.out)])
    return capsys.readouterr().out


def test_what_a_card_did_is_in_the_record_of_each_launch(bed: Bed) -> None:
    run, _ = bed.run()

    assert len(run.launches) == 8
    for launch in run.launches:
        (window,) = launch.telemetry
        assert window.readings >= 2
        assert window.accelerator == 0
        assert window.vendor == "nvidia"
        assert (window.sm_clock_min_mhz, window.sm_clock_max_mhz) == (1755, 1755)
        assert (window.memory_clock_min_mhz, window.memory_clock_max_mhz) == (3201, 3201)
        assert (window.temperature_max_c, window.power_max_w) == (61, 412.5)
        assert window.utilisation_mean_pct == 97
        assert window.memory_max_bytes == 40 << 30
        assert (window.throttle_reasons, window.foreign_pids, window.xids) == ((), (), ())
        assert (window.ecc_corrected, window.ecc_uncorrected) == (0, 0)
        assert launch.telemetry_problem == ""
        assert launch.host is not None
        assert launch.host.readings >= 2
        # between the first two readings may lie too little to tell
        assert launch.host.other_cpus is not None or launch.host.readings == 2
    pids = {bed.lines(launch)[0]["pid"] for launch in run.launches}
    assert len(pids) == 2  # one sampler a block, a process of its own
    assert os.getpid() not in pids


def test_a_throttle_in_the_midst_of_a_run_voids_its_block_which_is_drawn_anew_and_named(
    bed: Bed, capsys: pytest.CaptureFixture[str]
) -> None:
    run, said = bed.run(
        f"if LAUNCH == 2:\n"
        f"    card(reasons={HW_THERMAL | POWER_CAP}, sm_now=900)\n"
        f"    seen('hw_thermal_slowdown')\n"
        f"    card(reasons=0, sm_now=1755)"
    )

    second = run.launches[1]
    assert second.telemetry[0].throttle_reasons == ("sw_power_cap", "hw_thermal_slowdown")
    assert second.telemetry[0].sm_clock_min_mhz == 900
    # the two launches of the discarded attempt, its second one, and the other block
    places = [(one.block, one.attempt, one.position) for one in run.launches]
    assert places == [
        *((0, 0, place) for place in range(2)),
        *((0, 1, place) for place in range(4)),
        *((1, 0, place) for place in range(4)),
    ]
    assert [one.exit for one in run.launches] == ["ok"] * 10
    reason = "accelerator 0 was throttled (hw_thermal_slowdown)"
    assert f"w block 1 is discarded: {reason}" in said
    assert f"w {second.side}: 1 x void, its block discarded: {reason}" in said
    assert "4+4" in said
    of_base, of_head = (int(second.side == side) for side in ("base", "head"))
    expected = f"w: 1 block discarded, void launches: {of_base} of base, {of_head} of head"
    assert f"{expected} ({reason})" in " ".join(told_by_gate(bed, capsys).split())


def test_conditions_that_never_come_right_make_the_series_void(
    bed: Bed, capsys: pytest.CaptureFixture[str]
) -> None:
    bed.cards.set(reasons=HW_THERMAL)

    run, _ = bed.run()

    assert len(run.launches) == 3  # one each of three attempts at the first block
    assert ciwm(["gate", str(bed.out), "--on-void", "fail"]) == 5
    told = " ".join(capsys.readouterr().out.split())
    assert "3 blocks were discarded and 0 kept" in told
    assert "accelerator 0 was throttled (hw_thermal_slowdown)" in told


def test_a_capped_power_is_recorded_and_voids_only_where_the_gate_says_so(bed: Bed) -> None:
    bed.cards.set(reasons=POWER_CAP)

    run, _ = bed.run()

    assert len(run.launches) == 8
    assert {one.telemetry[0].throttle_reasons for one in run.launches} == {("sw_power_cap",)}


@pytest.mark.parametrize("tolerated", [False, True])
def test_a_foreign_process_on_the_card_voids_unless_it_is_tolerated(
    bed: Bed, capsys: pytest.CaptureFixture[str], *, tolerated: bool
) -> None:
    library = bed.cards.library / "libnvidia-ml.so.1"
    program = f"import ctypes\nctypes.CDLL({str(library)!r})\nprint(1, flush=True)\ninput()"
    other = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    other.stdout.readline()  # it has the driver's library by now
    # a child of this test, and no descendant of the ciwm that will measure
    name = Path(f"/proc/{other.pid}/comm").read_text().strip()
    try:
        bed.cards.set(pids=other.pid)
        config = f"[gate.void]\ntolerate = ['{name}']\n" if tolerated else ""
        run, _ = bed.run(config=config)
    finally:
        other.communicate("\n")

    assert {one.telemetry[0].foreign_pids for one in run.launches} == {(other.pid,)}
    assert {one.telemetry[0].foreign_names for one in run.launches} == {(name,)}
    assert len(run.launches) == (8 if tolerated else 3)
    if not tolerated:
        assert f"another process on accelerator 0 ({name})" in told_by_gate(bed, capsys)


def test_processes_of_the_launch_itself_are_not_foreign(bed: Bed) -> None:
    run, _ = bed.run(
        "if LAUNCH == 1:\n"
        "    child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "    card(pids='%d %d' % (os.getpid(), child.pid))\n"
        "    seen('\"host\"', 3)\n"
        "    card(pids='')"
    )

    windows = [one.telemetry[0] for one in run.launches]
    assert len(windows) == 8
    assert {window.foreign_pids for window in windows} == {()}


def test_errors_of_the_card_are_named_in_the_report(
    bed: Bed, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = bed.run(
        "if LAUNCH == 3:\n    card(corrected=5, xid='63')\n    seen('\"xid\":63')\n    card(xid='')"
    )

    assert len(run.launches) == 8
    (window,) = run.launches[2].telemetry
    assert (window.ecc_corrected, window.ecc_uncorrected, window.xids) == (5, 0, (63,))
    told = told_by_gate(bed, capsys)
    assert "accelerator 0: XID 63 during 1 of 8 launches" in told
    assert "accelerator 0: 5 memory errors corrected by ECC" in told


def test_a_card_that_no_longer_answers_and_a_sampler_that_is_killed_are_named(
    bed: Bed, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = bed.run(
        "if LAUNCH == 2:\n"
        "    os.kill(json.loads(lines()[0])['pid'], 9)\n"
        "if LAUNCH == 5:\n"
        "    card(**{'fail.nvmlDeviceGetClockInfo': 15})\n"
        "    seen('GPU is lost')\n"
        "    card(**{'fail.nvmlDeviceGetClockInfo': 0})"
    )

    assert [one.exit for one in run.launches] == ["ok"] * 8
    problems = {one.number: one.telemetry_problem for one in run.launches}
    assert problems.pop(2) == "the sampler ended with status -9"
    assert "accelerator 0: GPU is lost" in problems.pop(5)
    # the next launch of the block has a new sampler; a lost card is not asked again in its block
    assert problems[1] == problems[3] == problems[4] == ""
    told = told_by_gate(bed, capsys)
    assert "telemetry of 1 of 8 launches is missing or cut short: the sampler ended" in told
    assert "GPU is lost" in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_sampler_does_not_outlive_its_controller(bed: Bed, number: signal.Signals) -> None:
    bed.planted("if LAUNCH == 1:\n    time.sleep(100)")
    child = bed.start()
    path = bed.out / "launches"
    began = time.monotonic()
    while not any('"card"' in one.read_text() for one in path.glob("*/telemetry.jsonl")):
        assert time.monotonic() - began < 60
        time.sleep(0.02)
    (found,) = path.glob("*/telemetry.jsonl")
    sampler = json.loads(found.read_text().splitlines()[0])["pid"]

    child.send_signal(number)
    child.communicate(timeout=60)

    began = time.monotonic()
    while alive(sampler):
        assert time.monotonic() - began < 30
        time.sleep(0.02)


def test_without_readings_nothing_is_sampled(bed: Bed) -> None:
    bed.fork.commit({"bench/steps.py": "import framework\ndef step(): framework.work()\n"})
    quiet = CONFIG.replace("telemetry_hz = 20", "telemetry_hz = 0")
    bed.fork.commit({"ciwm.toml": quiet})
    bed.fork.commit({}, branch="sync")
    child = bed.start()
    _, stderr = child.communicate(timeout=100)

    assert child.returncode == 0, stderr
    run = read_record(bed.out / "run.json", Run)
    assert {(one.telemetry, one.host, one.telemetry_problem) for one in run.launches} == {
        ((), None, "")
    }
    assert not list(bed.out.glob("launches/*/telemetry.jsonl"))


def test_a_sampler_keeps_off_the_cpus_of_its_launches_where_there_are_others(bed: Bed) -> None:
    every = os.sched_getaffinity(0)
    if len(every) < 2:
        missing("this machine gives us one CPU only")
    mine = min(every)
    os.sched_setaffinity(0, {mine})
    try:
        run, _ = bed.run()
    finally:
        os.sched_setaffinity(0, every)

    start = bed.lines(run.launches[0])[0]
    assert start["apart"]
    assert mine not in start["cpus"]
