"""The bandwidth that a host's links allow between its cards, as NVML tells the links.

Of one direction of a card: what bus bandwidth is limited by where nobody adds up on the way. The
switches of NVLink 4 and newer can (NVLink SHARP): there all_reduce may pass 100 %.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.records import Environment, Plan
    from ciwm.records.ranks import CollectiveSeries

# GB/s a lane and direction after line coding: 8b/10b; from the third generation on 128b/130b; the
# sixth sends flits of 256 bytes, 242 of them packets (PCI-SIG)
LANE_GB_S = {
    1: 2.5 * 8 / 10 / 8,
    2: 5 * 8 / 10 / 8,
    3: 8 * 128 / 130 / 8,
    4: 16 * 128 / 130 / 8,
    5: 32 * 128 / 130 / 8,
    6: 64 * 242 / 256 / 8,
}
# GB/s a link and direction that NVIDIA gives: white papers of P100, V100, A100 (GA100), GA102 (its
# links have half as many lanes, which tells by the speed that NVML shows), H100, and data sheet of
# B200: 1.8 TB/s of 18 links in both directions
NVLINK_GB_S = {
    "1.0": (20.0,),
    "2.0": (25.0,),
    "2.2": (25.0,),
    "3.0": (25.0, 14.0625),
    "3.1": (25.0, 14.0625),
    "4.0": (25.0,),
    "5.0": (50.0,),
}
CODING = 1.08  # a raw speed is at most so much more: 25.781 on V100, 26.562 on H100, 53.125 on B200
_TO_HOST = re.compile(r"(\d+): PCIe (\d+) x(\d+)")
_PAIR = re.compile(
    r"(?P<one>\d+)-(?P<other>\d+): NVLink (?:(?P<version>[\d.]+) )?x(?P<count>\d+)"
    r"(?: (?P<way>by NVSwitch|direct))?"
)


class Peak(NamedTuple):
    """GB/s, or None; and where it is from, or why there is none."""

    gb_s: float | None
    source: str


class Pair(NamedTuple):
    """Two cards with NVLink between them: GB/s of one direction."""

    cards: tuple[int, int]
    gb_s: float
    switched: bool
    words: str


class _Unknown(Exception):  # noqa: N818  not a failure: there is no peak to show
    """Why no peak is known."""


def with_link_peaks(plan: Plan, host: Environment) -> Plan:
    """The plan with a peak for the collectives that declare none, or why it is not known."""
    collectives = tuple(
        _with_peak(one, link_peak(host, one.ranks))
        if one.peak_gb_s is None and host.accelerators
        else one
        for one in plan.collectives
    )
    return plan.model_copy(update={"collectives": collectives})


def _with_peak(one: CollectiveSeries, peak: Peak) -> CollectiveSeries:
    return one.model_copy(update={"peak_gb_s": peak.gb_s, "peak_source": peak.source})


def link_peak(host: Environment, ranks: int) -> Peak:
    """What one direction of a card's links carries to the others, of the least of such cards.

    Blocks may run on any of a host's cards, so it is that of the worst choice of them.
    """
    try:
        return _peak(host, ranks)
    except _Unknown as why:
        return Peak(None, f"none known: {why}")


def _peak(host: Environment, ranks: int) -> Peak:
    if ranks > len(host.accelerators):
        raise _Unknown("ranks on other hosts are connected by what NVML does not know")
    if any("NVLink" in line for line in host.topology):
        return _nvlink_peak(host, ranks)
    return _pcie_peak(host.topology, len(host.accelerators))


def _nvlink_peak(host: Environment, ranks: int) -> Peak:
    pairs, cards = list(_pairs(host)), len(host.accelerators)
    if len(pairs) < cards * (cards - 1) // 2:
        raise _Unknown("some of the cards have NVLink between them, and others do not")
    if all(pair.switched for pair in pairs):
        least = min(pairs, key=lambda pair: pair.gb_s)
        return Peak(least.gb_s, f"NVML: {least.words}, one direction")
    if any(pair.switched for pair in pairs):
        raise _Unknown("some of the cards' NVLinks lead to a switch, and others do not")
    among = {index for pair in pairs for index in pair.cards}
    worst, words = min((_least(pairs, card, ranks - 1) for card in among), key=lambda it: it[0])
    others = f"to each of {ranks - 1} others" if ranks > 2 else "to the other"  # noqa: PLR2004
    return Peak(worst, f"NVML: {words} {others}, one direction")


def _least(pairs: Sequence[Pair], card: int, others: int) -> tuple[float, str]:
    """What leads from a card to those others to which it has the fewest links."""
    own = sorted((pair for pair in pairs if card in pair.cards), key=lambda pair: pair.gb_s)
    return sum(pair.gb_s for pair in own[:others]), own[0].words


def _pairs(host: Environment) -> Iterator[Pair]:
    for line in host.topology:
        match = _PAIR.fullmatch(line)
        if match is not None:
            if not match["version"]:
                raise _Unknown("NVML does not tell the version of the NVLinks")
            if not match["way"]:
                raise _Unknown("NVML does not tell where the NVLinks lead")
            rate, count = _rate(match["version"], host.nvlink_mb_s), int(match["count"])
            words = f"NVLink {match['version']} x{count} {match['way']}, {rate:g} GB/s a link"
            cards = (int(match["one"]), int(match["other"]))
            yield Pair(cards, rate * count, match["way"] == "by NVSwitch", words)


def _rate(version: str, speed_mb_s: int | None) -> float:
    """GB/s of a link of that version which NVML shows with that raw speed."""
    rates = NVLINK_GB_S.get(version)
    if rates is None:
        raise _Unknown(f"what a link of NVLink {version} carries is not in the table")
    if speed_mb_s is None:
        if len(rates) > 1:
            raise _Unknown(f"NVML does not tell the speed of the NVLinks, and {version} has two")
        return rates[0]
    raw = speed_mb_s / 1000
    fitting = [rate for rate in rates if rate / CODING <= raw <= rate * CODING]
    if not fitting:
        raise _Unknown(f"NVML shows {raw:g} GB/s a link, which is none of NVLink {version}")
    return fitting[0]


def _pcie_peak(topology: Sequence[str], cards: int) -> Peak:
    """One direction of the slowest card's PCIe link."""
    found = [match for line in topology if (match := _TO_HOST.fullmatch(line))]
    links = [(int(one[2]), int(one[3])) for one in found]
    if len(links) < cards:
        raise _Unknown("NVML does not tell the cards' PCIe links")
    strange = [generation for generation, _ in links if generation not in LANE_GB_S]
    if strange:
        raise _Unknown(f"what a lane of PCIe {strange[0]} carries is not in the table")
    generation, width = min(links, key=lambda link: LANE_GB_S[link[0]] * link[1])
    source = f"NVML: PCIe {generation} x{width}, one direction, after line coding"
    return Peak(LANE_GB_S[generation] * width, source)
