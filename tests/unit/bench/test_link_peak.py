"""The peaks that links allow, by the figures of their specifications and data sheets."""

from __future__ import annotations

import pytest

from ciwm.bench.link_peak import link_peak, with_link_peaks
from ciwm.records import Accelerator, Environment
from ciwm.records.ranks import CollectiveSeries
from tests.runs import MACHINE, RunBuilder, series

PAIR = "0-1: a host bridge (PHB)"


def host(topology: tuple[str, ...], cards: int, nvlink_mb_s: int | None = None) -> Environment:
    made = tuple(Accelerator(index=n, vendor="nvidia", name="A10") for n in range(cards))
    links = {"topology": topology, "nvlink_mb_s": nvlink_mb_s}
    return MACHINE.model_copy(update={"accelerators": made, **links})


@pytest.mark.parametrize(
    ("topology", "gb_s"),
    [
        (("0: PCIe 3 x16", "1: PCIe 3 x16", PAIR), 15.75),
        (("0: PCIe 4 x16", "1: PCIe 4 x16", PAIR), 31.51),
        (("0: PCIe 5 x16", "1: PCIe 5 x16", PAIR), 63.02),
        (("0: PCIe 5 x16", "1: PCIe 4 x8", PAIR), 15.75),  # the slower one
    ],
)
def test_it_is_one_direction_of_the_slowest_link(topology: tuple[str, ...], gb_s: float) -> None:
    peak = link_peak(host(topology, 2), 2)

    assert peak.gb_s == pytest.approx(gb_s, abs=0.01)
    assert peak.source.startswith("NVML: PCIe")


@pytest.mark.parametrize(
    ("version", "speed", "gb_s"),
    [  # by NVIDIA's white papers: P100 160, V100 300, A100 600, A6000 112.5, H100 900, B200 1800,
        # all of them for both directions
        ("1.0 x4", 20000, 80),
        ("2.0 x6", 25781, 150),
        ("3.0 x12", 25000, 300),
        ("3.1 x4", 14062, 56.25),
        ("4.0 x18", 26562, 450),
        ("5.0 x18", 53125, 900),
    ],
)
def test_nvlink_has_the_rate_of_its_data_sheets(version: str, speed: int, gb_s: float) -> None:
    found = host((f"0-1: NVLink {version} by NVSwitch",), 2, speed)

    assert link_peak(found, 2).gb_s == gb_s


def test_fewer_ranks_than_cards_have_the_links_of_the_worst_choice_of_cards() -> None:
    mesh = ("0-1: NVLink 2.0 x2 direct", "0-2: NVLink 2.0 x1 direct", "1-2: NVLink 2.0 x2 direct")

    assert link_peak(host(mesh, 3), 2).gb_s == 25.0
    assert link_peak(host(mesh, 3), 3).gb_s == 75.0
    assert "to the other" in link_peak(host(mesh, 3), 2).source


@pytest.mark.parametrize(
    ("topology", "cards", "why"),
    [
        ((), 2, "NVML does not tell the cards' PCIe links"),
        ((PAIR,), 2, "NVML does not tell the cards' PCIe links"),
        (("0: PCIe 5 x16", "1: PCIe 5 x16", "0-1: NVLink x18"), 2, "the version of the NVLinks"),
        (("0: PCIe 9 x16", "1: PCIe 5 x16", PAIR), 2, "what a lane of PCIe 9 carries"),
        (("0-1: NVLink 4.0 x4 direct", "0-2: a", "1-2: b"), 3, "others do not"),
        (("0: PCIe 5 x16",), 1, "ranks on other hosts"),
    ],
)
def test_what_is_not_told_has_no_peak_and_a_reason(
    topology: tuple[str, ...], cards: int, why: str
) -> None:
    peak = link_peak(host(topology, cards), 2)

    assert peak.gb_s is None
    assert peak.source.startswith("none known: ")
    assert why in peak.source


def collective(ranks: int, **peak: object) -> CollectiveSeries:
    return CollectiveSeries.model_validate(
        {
            "series": "c",
            "operation": "broadcast",
            "dtype": "int8",
            "size_bytes": 1,
            "ranks": ranks,
            **peak,
        }
    )


def test_a_declared_peak_stays_and_ranks_elsewhere_have_none() -> None:
    stated = {"peak_gb_s": 7.0, "peak_source": "a data sheet"}
    three = (collective(2), collective(2, **stated), collective(4))
    plan = RunBuilder([series()], plan={"collectives": three}).run().plan

    peaks = [
        one.peak_gb_s
        for one in with_link_peaks(plan, host(("0: PCIe 4 x16", "1: PCIe 4 x16"), 2)).collectives
    ]

    assert peaks == [pytest.approx(31.51, abs=0.01), 7.0, None]
