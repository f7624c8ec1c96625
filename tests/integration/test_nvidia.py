"""NVIDIA cards through the real binding, over a stand-in for the driver's library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.nvml import H200

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json
from ciwm.bench.link_peak import link_peak
from ciwm.devices import describe_host, visible_cards
from ciwm.errors import DeviceError
try:
    cards = [card.model_dump() for card in visible_cards()]
    host = describe_host()
    assert [card.model_dump() for card in host.accelerators] == cards
    peak, source = link_peak(host, max(len(cards), 2))
    links = {"links": host.topology, "speed": host.nvlink_mb_s, "peak": peak, "source": source}
    print(json.dumps({"cards": cards, **links, "fingerprint": host.fingerprint}))
except DeviceError as error:
    print(json.dumps({"error": error.message, "hint": error.hint}))
"""
A10 = {**H200, "name": "NVIDIA A10", "uuid": "GPU-bbbb2222-0000", "memory": 24146608128}
LOST, NO_DRIVER, MISMATCH, NO_PERMISSION, NOT_SUPPORTED = 15, 9, 18, 4, 3  # nvmlReturn_t


class Driver:
    """A machine with some cards and a driver in some state."""

    def __init__(self, library: Path, state: Path) -> None:
        self.library = library
        self.state = state

    def answers(
        self,
        *cards: dict[str, Any],
        visible: str | None = None,
        failing: dict[str, int] | None = None,
    ) -> dict[str, Any]:
        """What a fresh process sees of it; `failing` functions answer with an nvmlReturn_t."""
        lines = [f"count {len(cards)}", "driver 590.12"]
        lines += [
            f"{n}.{key} {value}" for n, card in enumerate(cards) for key, value in card.items()
        ]
        lines += [f"{key} {value}" for key, value in (failing or {}).items()]
        self.state.write_text("\n".join(lines) + "\n")
        kept = {key: v for key, v in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={
                **kept,
                "PYTHONPATH": str(ROOT),
                "LD_LIBRARY_PATH": str(self.library),
                "FAKE_NVML_STATE": str(self.state),
                **({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def names(self, *cards: dict[str, Any], visible: str) -> list[str]:
        return [card["name"] for card in self.answers(*cards, visible=visible)["cards"]]


@pytest.fixture
def driver(nvml_library: Path, tmp_path: Path) -> Driver:
    return Driver(nvml_library, tmp_path / "state")


def test_a_card_is_described_with_its_units(driver: Driver) -> None:
    assert driver.answers(H200)["cards"] == [
        {
            "index": 0,
            "vendor": "nvidia",
            "name": "NVIDIA H200",
            "uuid": "GPU-aaaa1111-0000",
            "memory_bytes": 150754820096,
            "driver": "590.12",
            "max_sm_clock_mhz": 1980,
            "max_memory_clock_mhz": 3201,
            "power_limit_w": 700.0,
            "ecc": True,
            "mig": False,
            "locked_sm_clock_mhz": None,
        }
    ]


def test_what_a_card_does_not_support_is_none(driver: Driver) -> None:
    bare = {"name": "NVIDIA GB10", "uuid": "GPU-c"}
    [card] = driver.answers(bare)["cards"]
    assert {key for key, value in card.items() if value is None} == {
        "memory_bytes",
        "max_sm_clock_mhz",
        "max_memory_clock_mhz",
        "power_limit_w",
        "ecc",
        "mig",
        "locked_sm_clock_mhz",
    }


def test_the_fingerprint_tells_cards_and_power_limits_apart(driver: Driver) -> None:
    capped = {**H200, "power_limit": 500000}
    prints = [driver.answers(card)["fingerprint"] for card in (H200, A10, capped)]
    assert len(set(prints)) == 3
    assert driver.answers(H200)["fingerprint"] == prints[0]


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        ("0", ["NVIDIA H200"]),
        ("1,0", ["NVIDIA A10", "NVIDIA H200"]),
        (" 1 ", ["NVIDIA A10"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("1,7,0", ["NVIDIA A10"]),  # CUDA sees only what stands before the first bad entry
        ("GPU-bbbb2222-0000,0", ["NVIDIA A10", "NVIDIA H200"]),
        ("GPU-bbbb", ["NVIDIA A10"]),
        ("GPU-", []),  # of both cards, hence of none
        ("GPU-cccc", []),
    ],
)
def test_only_the_visible_cards_are_seen_in_their_order(
    driver: Driver, visible: str, names: list[str]
) -> None:
    assert driver.names(H200, A10, visible=visible) == names


def test_a_mig_instance_has_its_own_uuid_and_memory_and_its_cards_clocks(driver: Driver) -> None:
    split = {**A10, "mig": 1, "mig_uuid": "MIG-1234", "mig_memory": 1 << 30}
    [card] = driver.answers(H200, split, visible="MIG-1234")["cards"]
    assert (card["index"], card["name"], card["mig"]) == (1, "NVIDIA A10", True)
    assert (card["uuid"], card["memory_bytes"]) == ("MIG-1234", 1 << 30)
    assert card["max_sm_clock_mhz"] == 1980


def test_without_the_library_there_are_no_cards(driver: Driver, tmp_path: Path) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has the real driver")
    driver.library = tmp_path
    assert driver.answers(H200)["cards"] == []


def test_with_the_library_but_no_driver_there_are_no_cards(driver: Driver) -> None:
    assert driver.answers(H200, failing={"fail.nvmlInitWithFlags": NO_DRIVER})["cards"] == []


@pytest.mark.parametrize("code", [MISMATCH, NO_PERMISSION])
def test_a_broken_driver_is_an_error_with_a_hint(driver: Driver, code: int) -> None:
    answer = driver.answers(H200, failing={"fail.nvmlInitWithFlags": code})
    assert answer["error"].startswith("the NVIDIA driver does not answer: ")
    assert "nvidia-smi" in answer["hint"]


@pytest.mark.parametrize("function", ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMemoryInfo"])
def test_a_card_that_is_lost_is_an_error_and_not_a_missing_card(
    driver: Driver, function: str
) -> None:
    answer = driver.answers(H200, A10, failing={f"1.fail.{function}": LOST})
    assert answer["error"] == "an NVIDIA card cannot be read: GPU is lost"


def several(count: int, **links: Any) -> list[dict[str, Any]]:
    """H200s by their own uuids, all with these links."""
    return [{**H200, "uuid": f"GPU-{n}", "pcie": "5 16", **links} for n in range(count)]


def test_how_cards_are_connected_is_told_and_is_part_of_the_fingerprint(driver: Driver) -> None:
    first, second = several(2, nvlinks=18)
    linked = driver.answers(first, {**second, "nvlinks": 12})
    assert linked["links"] == ["0: PCIe 5 x16", "1: PCIe 5 x16", "0-1: NVLink x12"]
    plain = driver.answers(H200, {**H200, "uuid": "GPU-b"}, failing={"ancestor": 50})
    assert plain["links"] == ["0-1: between NUMA nodes (SYS)"]
    assert linked["fingerprint"] != plain["fingerprint"]
    assert driver.answers(H200, {**H200, "uuid": "GPU-b"})["links"] == []


def test_links_by_a_switch_have_their_version_and_speed(driver: Driver) -> None:
    cards = several(2, nvlinks=18, nvlink_version=6, nvlink_speed=26562, nvlink_to="s")
    told = driver.answers(*cards)
    assert told["links"][2:] == ["0-1: NVLink 4.0 x18 by NVSwitch"]
    assert (told["speed"], told["peak"], told["source"]) == (
        26562,
        450.0,
        "NVML: NVLink 4.0 x18 by NVSwitch, 25 GB/s a link, one direction",
    )
    slower = {**cards[1], "nvlinks": 16, "nvlink_speed": 26000}
    assert driver.answers(cards[0], slower)["links"][2:] == ["0-1: NVLink 4.0 x16 by NVSwitch"]
    less = driver.answers(cards[0], slower)
    assert (less["peak"], less["speed"]) == (400.0, 26000)


def test_direct_links_count_for_the_cards_they_lead_to(driver: Driver) -> None:
    """An A100 board of four: four links to each of the others."""
    board = several(4, nvlinks=12, nvlink_version=4, nvlink_speed=25000)
    for number, card in enumerate(board):
        card["nvlink_to"] = " ".join(f"{n} {n} {n} {n}" for n in range(4) if n != number)
    told = driver.answers(*board)
    pairs = ["0-1", "0-2", "0-3", "1-2", "1-3", "2-3"]
    assert told["links"][4:] == [f"{pair}: NVLink 3.0 x4 direct" for pair in pairs]
    assert told["peak"] == 3 * 4 * 25.0
    assert driver.answers(*board[:2])["peak"] == 4 * 25.0


@pytest.mark.parametrize(
    ("links", "why"),
    [
        ({"nvlinks": 18}, "NVML does not tell the version of the NVLinks"),
        ({"nvlinks": 18, "nvlink_version": 6}, "NVML does not tell where the NVLinks lead"),
        (
            {"nvlinks": 4, "nvlink_version": 4, "nvlink_to": "s"},
            "NVML does not tell the speed of the NVLinks, and 3.0 has two",
        ),
        (
            {"nvlinks": 4, "nvlink_version": 6, "nvlink_to": "s", "nvlink_speed": 53125},
            "NVML shows 53.125 GB/s a link, which is none of NVLink 4.0",
        ),
        (
            {"nvlinks": 4, "nvlink_version": 8, "nvlink_to": "s", "nvlink_speed": 99},
            "what a link of NVLink 6.0 carries is not in the table",
        ),
        ({"pcie": "7 16"}, "what a lane of PCIe 7 carries is not in the table"),
    ],
)
def test_why_no_peak_is_known_is_told(driver: Driver, links: dict[str, Any], why: str) -> None:
    told = driver.answers(*several(2, **links))
    assert (told["peak"], told["source"]) == (None, f"none known: {why}")


def test_links_that_the_driver_refuses_are_none_and_no_failure(driver: Driver) -> None:
    cards = several(2, nvlinks=18, nvlink_version=6, nvlink_to="s", nvlink_speed=26562)
    refused = ("nvmlDeviceGetFieldValues", "nvmlDeviceGetNvLinkRemoteDeviceType")
    told = driver.answers(*cards, failing={f"fail.{name}": NOT_SUPPORTED for name in refused})
    assert told["links"][2:] == ["0-1: NVLink 4.0 x18"]
    pcie = driver.answers(*several(2))
    assert pcie["peak"] == pytest.approx(63.02, abs=0.01)
