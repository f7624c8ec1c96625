"""[bench] lock_clocks: set for a block, and given back whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.records import Run, read_record
from tests.nvml import Cards, cards_at_work

if TYPE_CHECKING:
    from tests.fork import Fork

ROOT = Path(__file__).resolve().parents[3]
NO_PERMISSION = 4  # nvmlReturn_t
CONFIG = """
[[workload]]
id = "w"
python = "bench/steps.py:step"
iterations = 2
warmup_iterations = 0
warmup_s = 0
devices = {devices}
[gate]
max_launches = 4
[bench]
telemetry_hz = 50
lock_clocks = 1500
"""
STEP = "import framework\ndef step(): framework.work()\n"


@dataclass(frozen=True)
class Bed:
    """A fork with two branches, and cards."""

    fork: Fork
    cards: Cards

    @property
    def out(self) -> Path:
        return self.fork.runs / "run"

    @property
    def log(self) -> list[str]:
        """What was done to the clocks."""
        path = Path(str(self.cards.other["log"]))
        return path.read_text().splitlines() if path.exists() else []

    def two(self, step: str = STEP, devices: int = 1) -> None:
        config = CONFIG.format(devices=devices)
        self.fork.commit({"bench/steps.py": step, "ciwm.toml": config})
        self.fork.commit({"framework/new.py": ""}, branch="sync")

    def start(self, out: Path | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "ciwm", "bench", "main", "sync", "--out", str(out or self.out)],
            cwd=self.fork.path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **self.cards.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, out: Path | None = None) -> tuple[int, str]:
        child = self.start(out)
        stdout, stderr = child.communicate(timeout=250)
        return child.returncode, stdout + stderr


@pytest.fixture
def bed(fork: Fork, nvml_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return Bed(fork, cards_at_work(nvml_library, tmp_path))


def guard_of(controller: int) -> int:
    """The process that holds the clocks for a ciwm."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            words = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == controller and b"clock_guard.py" in words:
            return int(path.parent.name)
    raise AssertionError("nobody guards the clocks")


def wait_for(what: str, bed: Bed) -> None:
    began = time.monotonic()
    while what not in bed.log:
        assert time.monotonic() - began < 60, bed.log
        time.sleep(0.02)


def test_the_clock_is_held_for_each_block_and_given_back(bed: Bed) -> None:
    bed.two()
    bed.cards.set(sm_now=1500)

    code, said = bed.run()

    assert code == 0, said
    assert bed.log == ["lock 0 1500 1500", "reset 0"] * 2
    run = read_record(bed.out / "run.json", Run)
    assert {one.telemetry[0].sm_clock_locked_mhz for one in run.launches} == {1500}
    assert run.head.environment.accelerators[0].locked_sm_clock_mhz == 1500


def test_a_card_that_does_not_keep_its_clock_is_void(bed: Bed) -> None:
    place = str(bed.fork.runs / "run")
    bed.two(
        "import pathlib, time\n"
        "import framework\n"
        f"place = pathlib.Path({place!r})\n"
        "def step():\n"
        "    own = max(place.glob('launches/*')) / 'telemetry.jsonl'\n"
        "    began = time.monotonic()\n"
        "    while not own.exists() or own.read_text().count('\"card\"') < 8:\n"
        "        assert time.monotonic() - began < 100\n"
        "        time.sleep(0.01)\n"
    )
    bed.cards.set(sm_now=1200)

    code, said = bed.run()

    assert code == 0, said
    assert "accelerator 0 did not keep the 1500 MHz it was held at" in said
    run = read_record(bed.out / "run.json", Run)
    assert {one.telemetry[0].sm_clock_busy_mhz for one in run.launches} == {1200}
    assert len(run.launches) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_ciwm_that_is_ended_gives_the_clocks_back(
    bed: Bed, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    bed.cards.cards.append({**bed.cards.cards[0], "uuid": "GPU-1"})
    bed.cards.set(sm_now=1500)
    bed.two("import time\ndef step(): time.sleep(100)\n")
    child = bed.start()
    wait_for("lock 0 1500 1500", bed)

    child.send_signal(number)
    child.communicate(timeout=60)

    wait_for("reset 0", bed)
    assert bed.log == ["lock 0 1500 1500", "reset 0"]  # and never touches the other card


def test_a_clock_that_nobody_could_give_back_is_given_back_by_the_next_run(bed: Bed) -> None:
    bed.two("import time\ndef step(): time.sleep(100)\n")
    child = bed.start()
    wait_for("lock 0 1500 1500", bed)
    guard = guard_of(child.pid)

    os.kill(guard, signal.SIGKILL)
    child.kill()
    child.communicate(timeout=60)
    assert bed.log == ["lock 0 1500 1500"]

    bed.fork.commit({"bench/steps.py": STEP})
    bed.cards.set(sm_now=1500)
    code, said = bed.run(bed.fork.runs / "next")
    assert code == 0, said
    assert "accelerator 0: giving back a clock that an earlier ciwm had left held" in said
    assert bed.log[1:] == ["reset 0", *["lock 0 1500 1500", "reset 0"] * 2]


def test_without_the_right_to_set_clocks_nothing_is_measured_and_one_line_says_why(
    bed: Bed,
) -> None:
    bed.two()
    bed.cards.set(fail__nvmlDeviceSetGpuLockedClocks=NO_PERMISSION)

    code, said = bed.run()

    assert code == 4
    assert "error: the clock cannot be held: " in said
    assert "hint: setting clocks takes root" in said
    assert bed.log == []
    assert not list(Path(os.environ["CIWM_LOCK_DIR"]).glob("*.clock"))


def test_a_clock_that_cannot_be_given_back_is_said(bed: Bed) -> None:
    bed.two()
    bed.cards.set(sm_now=1500, fail__nvmlDeviceResetGpuLockedClocks=NO_PERMISSION)

    code, said = bed.run()

    assert code == 0, said
    assert "the clock could not be given back: accelerator 0: " in said
    assert "nvidia-smi --reset-gpu-clocks" in said
