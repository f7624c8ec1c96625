"""The sampler as the controller drives it: over a driver that hangs, and a disk that is full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.launch import sampling
from ciwm.launch.sampling import sampler, watched
from ciwm.records import Accelerator
from tests.nvml import POWER_CAP, Cards, cards_at_work

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
CARD = Accelerator(index=0, vendor="nvidia", name="NVIDIA H200", uuid="GPU-0")
FUNCTION_NOT_FOUND = 13  # nvmlReturn_t
HANGING: dict[str, Any] = {"hang.nvmlDeviceGetPowerUsage": 1}
CONTROLLER = """
import pathlib, sys, time
from ciwm.launch.sampling import sampler, watched
from ciwm.records import Accelerator
card = Accelerator(index=0, vendor="nvidia", name="NVIDIA H200", uuid="GPU-0")
with sampler((card,), 50) as watching, watched(watching, pathlib.Path(sys.argv[1])):
    time.sleep(100)
"""


@pytest.fixture
def cards(nvml_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cards:
    found = cards_at_work(nvml_library, tmp_path)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    return found


def until(what: Callable[[], bool], patience_s: float = 60) -> None:
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < patience_s
        time.sleep(0.02)


def pid_in(folder: Path) -> int:
    path = folder / "telemetry.jsonl"
    until(lambda: path.exists() and '"card"' in path.read_text())
    return int(json.loads(path.read_text().splitlines()[0])["pid"])


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_driver_that_hangs_holds_no_launch_up(
    cards: Cards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "END_S", 0.5)
    with sampler((CARD,), 50) as watching:
        with watched(watching, tmp_path) as problems:
            pid = pid_in(tmp_path)
            cards.set(**HANGING)  # the last reading, if no other, does not return
        assert problems == ["the sampler was killed: it did not answer within 0.5 s"]
        assert not alive(pid)
        seen = watching.seen(tmp_path, (), 0.0)
        assert seen is not None
        assert seen.cards[0].power_max_w == 412.5  # what was read before


def test_a_sampler_whose_driver_hangs_does_not_outlive_its_controller(
    cards: Cards, tmp_path: Path
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    pid = pid_in(tmp_path)
    cards.set(**HANGING)

    child.kill()
    child.wait()

    until(lambda: not alive(pid))


def test_a_full_disk_is_a_problem_of_the_telemetry_and_the_next_launch_is_watched_again(
    tmp_path: Path,
) -> None:
    full, fine = tmp_path / "full", tmp_path / "fine"
    full.mkdir()
    fine.mkdir()
    (full / "telemetry.jsonl").symlink_to("/dev/full")
    with sampler((), 50) as watching:
        with watched(watching, full) as problems:
            pass
        assert problems == ["the sampler's file is not whole: No space left on device"]
        with watched(watching, fine) as problems:
            pass
        assert problems == []
        seen = watching.seen(fine, (), 0.0)
    assert seen is not None
    assert seen.host is not None
    assert seen.problem == ""


def test_a_card_of_a_vendor_without_a_meter_is_named(tmp_path: Path) -> None:
    npu = CARD.model_copy(update={"vendor": "npu"})
    with sampler((npu,), 50) as watching:
        with watched(watching, tmp_path) as problems:
            pass
        seen = watching.seen(tmp_path, (), 0.0)
    assert problems == []
    assert seen is not None
    assert seen.problem == "accelerator 0: no meter reads npu cards"


def test_a_reading_that_fails_costs_no_other_and_is_named_once(
    cards: Cards, tmp_path: Path
) -> None:
    unknown: dict[str, Any] = {
        "fail.nvmlDeviceGetPowerUsage": 999,
        "fail.nvmlDeviceGetComputeRunningProcesses_v3": 999,
        "fail.nvmlEventSetCreate": 999,
    }
    cards.set(**unknown)
    cards.other["fail.nvmlEventSetCreate"] = 999
    cards.set()
    with sampler((CARD,), 50) as watching:
        with watched(watching, tmp_path) as problems:
            pid_in(tmp_path)
        seen = watching.seen(tmp_path, (), 0.0)
    assert problems == []
    assert seen is not None
    (window,) = seen.cards
    assert (window.power_max_w, window.temperature_max_c) == (None, 61)
    said = seen.problem.split("; ")
    assert [one.partition(": ")[2].partition(":")[0] for one in said] == [
        "XIDs",
        "power_w",
        "processes",
    ]


def test_processes_that_nobody_tells_are_a_problem_and_not_an_empty_card(
    cards: Cards, tmp_path: Path
) -> None:
    not_supported: dict[str, Any] = {"fail.nvmlDeviceGetComputeRunningProcesses_v3": 3}
    cards.set(**not_supported)
    with sampler((CARD,), 50) as watching:
        with watched(watching, tmp_path):
            pid_in(tmp_path)
        seen = watching.seen(tmp_path, (), 0.0)
    assert seen is not None
    assert seen.problem == "accelerator 0: processes: the driver does not tell them"


@pytest.mark.parametrize(
    "lacking",
    ["nvmlDeviceGetTemperature", "nvmlDeviceGetCurrentClocksEventReasons"],  # CUDA 14's, and 525's
)
def test_a_driver_is_asked_by_the_names_that_its_functions_have(
    cards: Cards, tmp_path: Path, lacking: str
) -> None:
    cards.set(**{f"fail.{lacking}": FUNCTION_NOT_FOUND, "reasons": POWER_CAP})
    with sampler((CARD,), 50) as watching:
        with watched(watching, tmp_path):
            pid_in(tmp_path)
        seen = watching.seen(tmp_path, (), 0.0)
    assert seen is not None
    (window,) = seen.cards
    assert (window.temperature_max_c, window.throttle_reasons) == (61, ("sw_power_cap",))
    assert seen.problem == ""
