"""AMD cards through `amdsmi`: a stand-in for the binding, in processes that find it on their path.

That there is nothing behind ciwm's back but the binding's documented answers is all that this can
show; no AMD card was at hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MI300X = {
    "name": "AMD Instinct MI300X",
    "uuid": "75ff74a1-0000-1000-8094-6b0a4a5f4ae0",
    "total_mib": 196592,
    "used_mib": 4096,
    "sclk": 1650,
    "sclk_max": 2100,
    "mclk": 1300,
    "mclk_max": 1300,
    "cap_uw": 750_000_000,
    "watts": 512,
    "hotspot": 68,
    "busy": 88,
    "pids": [],
    "violations": {"active_ppt_pwr": True, "active_socket_thrm": False, "active_vr_thrm": "N/A"},
    "ecc": [4, 0],
}
DESCRIBE = """
import json
from ciwm.devices import visible_cards
from ciwm.errors import DeviceError
try:
    print(json.dumps([card.model_dump() for card in visible_cards()]))
except DeviceError as error:
    print(json.dumps({"error": error.message, "hint": error.hint}))
"""
READ = """
import json, sys
from ciwm.devices.meter import Gone, open_meter
try:
    meter = open_meter({"vendor": "amd", "index": 0, "uuid": sys.argv[1] or None})
    read = meter.read(thorough=True)
    assert meter.read(thorough=False) == read._replace(
        memory_clock_mhz=None, temperature_c=None, power_w=None, memory_bytes=None
    )
    print(json.dumps([read._asdict(), meter.processes(), meter.errors(), meter.events()]))
except Gone as error:
    print(json.dumps(str(error)))
"""


@dataclass(frozen=True)
class Machine:
    """A machine with AMD cards in some state."""

    state: Path

    def has(self, *cards: dict[str, Any] | None) -> None:
        self.state.write_text(json.dumps(list(cards) if cards != (None,) else None))

    def says(self, program: str, *arguments: str, **variables: str) -> Any:
        unset = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
        kept = {key: value for key, value in os.environ.items() if key not in unset}
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env={
                **kept,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests/fakes/rocm")]),
                "FAKE_AMDSMI_STATE": str(self.state),
                **variables,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("NVIDIA cards come first, and this machine has some")
    return Machine(tmp_path / "state.json")


def test_a_card_is_described_with_its_units(machine: Machine) -> None:
    machine.has(MI300X)
    (card,) = machine.says(DESCRIBE)
    assert {key: value for key, value in card.items() if value is not None} == {
        "index": 0,
        "vendor": "amd",
        "name": "AMD Instinct MI300X",
        "uuid": "75ff74a1-0000-1000-8094-6b0a4a5f4ae0",
        "memory_bytes": 196592 * 2**20,
        "driver": "6.12.12",
        "max_sm_clock_mhz": 2100,
        "max_memory_clock_mhz": 1300,
        "power_limit_w": 750.0,
    }


def test_without_a_driver_there_are_no_cards_and_a_broken_one_is_an_error(
    machine: Machine,
) -> None:
    machine.has(None)
    assert machine.says(DESCRIBE) == []
    machine.state.write_text('{"no": "list"')
    broken = machine.says(DESCRIBE)
    assert broken["error"].startswith("the AMD driver does not answer: ")
    assert "amd-smi" in broken["hint"]


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"ROCR_VISIBLE_DEVICES": "1"}, ["b"]),
        ({"ROCR_VISIBLE_DEVICES": "2,0", "HIP_VISIBLE_DEVICES": "1"}, ["a"]),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, ["b", "a"]),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, ["a"]),
        ({"HIP_VISIBLE_DEVICES": "0,9,1"}, ["a"]),
        ({"HIP_VISIBLE_DEVICES": ""}, []),
    ],
)
def test_only_the_visible_cards_are_seen_in_their_order(
    machine: Machine, variables: dict[str, str], names: list[str]
) -> None:
    machine.has(*({**MI300X, "name": name} for name in "abc"))
    assert [card["name"] for card in machine.says(DESCRIBE, **variables)] == names


def test_a_card_is_read_while_it_works(machine: Machine) -> None:
    machine.has({**MI300X, "pids": [4711]})
    reading, processes, errors, events = machine.says(READ, str(MI300X["uuid"]))
    assert reading == {
        "sm_clock_mhz": 1650,
        "memory_clock_mhz": 1300,
        "temperature_c": 68,
        "power_w": 512.0,
        "utilisation_pct": 88,
        "memory_bytes": 4096 * 2**20,
        "reasons": ["sw_power_cap"],
    }
    assert (processes, errors, events) == ([4711], [4, 0], [])


def test_what_a_card_does_not_support_is_none(machine: Machine) -> None:
    machine.has({"uuid": "u"})
    reading, processes, errors, _ = machine.says(READ, "u")
    assert set(map(str, reading.values())) == {"None", "[]"}
    assert (processes, errors) == ([], [None, None])


def test_a_card_that_is_another_one_now_is_not_read(machine: Machine) -> None:
    machine.has(MI300X)
    assert machine.says(READ, "other") == "card 0 is another one now"
