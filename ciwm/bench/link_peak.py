"""The bandwidth that a host's PCIe links allow between its cards, as NVML tells the links.

For NVLink NVML tells how many links are up and not what each carries: there a peak is declared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import Environment, Plan

# GB/s a lane and direction after line coding: 8b/10b, from the third generation on 128b/130b
LANE_GB_S = {
    1: 2.5 * 8 / 10 / 8,
    2: 5 * 8 / 10 / 8,
    3: 8 * 128 / 130 / 8,
    4: 16 * 128 / 130 / 8,
    5: 32 * 128 / 130 / 8,
}
_TO_HOST = re.compile(r"(\d+): PCIe (\d+) x(\d+)")


def with_link_peaks(plan: Plan, host: Environment) -> Plan:
    """The plan with a peak for the collectives that declare none, on a host of which it is known.

    Not where ranks are on other hosts too, nor where cards are joined by NVLink.
    """
    peak = pcie_peak(host.topology)
    if peak is None:
        return plan
    cards = len(host.accelerators)
    collectives = tuple(
        one.model_copy(update={"peak_gb_s": peak[0], "peak_source": peak[1]})
        if one.peak_gb_s is None and one.ranks <= cards
        else one
        for one in plan.collectives
    )
    return plan.model_copy(update={"collectives": collectives})


def pcie_peak(topology: Sequence[str]) -> tuple[float, str] | None:
    """One direction of the slowest card's PCIe link in GB/s, and in words where that is from."""
    links = [match for line in topology if (match := _TO_HOST.fullmatch(line))]
    known = [(int(one[2]), int(one[3])) for one in links if int(one[2]) in LANE_GB_S]
    if not links or len(known) < len(links) or any("NVLink" in line for line in topology):
        return None
    generation, width = min(known, key=lambda link: LANE_GB_S[link[0]] * link[1])
    source = f"NVML: PCIe {generation} x{width}, one direction, after line coding"
    return LANE_GB_S[generation] * width, source
