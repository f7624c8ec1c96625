"""The peak that PCIe links allow, by the figures of their specification."""

from __future__ import annotations

import pytest

from ciwm.bench.link_peak import pcie_peak, with_link_peaks
from ciwm.records import Accelerator
from ciwm.records.ranks import CollectiveSeries
from tests.runs import MACHINE, RunBuilder, series

PAIR = "0-1: a host bridge (PHB)"


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
    peak = pcie_peak(topology)

    assert peak is not None
    assert peak[0] == pytest.approx(gb_s, abs=0.01)
    assert peak[1].startswith("NVML: PCIe")


@pytest.mark.parametrize(
    "topology",
    [
        (),
        (PAIR,),
        ("0: PCIe 5 x16", "1: PCIe 5 x16", "0-1: NVLink x18"),
        ("0: PCIe 9 x16", "1: PCIe 5 x16", PAIR),
    ],
)
def test_what_is_not_told_has_no_peak(topology: tuple[str, ...]) -> None:
    assert pcie_peak(topology) is None


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
    cards = tuple(Accelerator(index=n, vendor="nvidia", name="A10") for n in range(2))
    host = MACHINE.model_copy(
        update={"accelerators": cards, "topology": ("0: PCIe 4 x16", "1: PCIe 4 x16")}
    )
    stated = {"peak_gb_s": 7.0, "peak_source": "a data sheet"}
    three = (collective(2), collective(2, **stated), collective(4))
    plan = RunBuilder([series()], plan={"collectives": three}).run().plan

    peaks = [one.peak_gb_s for one in with_link_peaks(plan, host).collectives]

    assert peaks == [pytest.approx(31.51, abs=0.01), 7.0, None]
