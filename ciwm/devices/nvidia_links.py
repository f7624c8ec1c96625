"""How NVIDIA cards are connected: each to the host, and each pair, through NVML."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from ciwm.devices.nvml import optional

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# what nvidia-smi topo -m calls the common ancestor of two cards
ANCESTORS = {
    0: "the same board",
    10: "one PCIe switch (PIX)",
    20: "several PCIe switches (PXB)",
    30: "a host bridge (PHB)",
    40: "one NUMA node (NODE)",
    50: "between NUMA nodes (SYS)",
}
# nvmlNvlinkVersion_t of nvml.h
VERSIONS = {1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}
_Place = tuple[int, int, int]  # on the PCI bus: domain, bus, device


class Link(NamedTuple):
    """An NVLink of a card that is up; None, or nothing, for what the driver does not tell."""

    version: str
    speed_mb_s: int | None  # one direction, coding included: what `nvidia-smi nvlink -s` shows
    to: _Place | str | None  # another device, or "switch"


class Links(NamedTuple):
    """How cards are connected: a line for each card, then for each pair; the NVLinks' raw speed.

    The slowest link's, in MB/s; a link that saves power may be slow for a moment, so it is no part
    of what the cards are.
    """

    lines: tuple[str, ...] = ()
    nvlink_mb_s: int | None = None


def links(binding: Any, cards: Sequence[tuple[int, Any]]) -> Links:
    """The links of cards (their index and handle); what is not told, is not there."""
    known = {index: _nvlinks(binding, card) for index, card in cards} if len(cards) > 1 else {}
    speeds = [link.speed_mb_s for own in known.values() for link in own]
    told = [speed for speed in speeds if speed is not None]
    lines = (*_to_host(binding, cards), *_between(binding, cards, known))
    return Links(lines, min(told) if told and len(told) == len(speeds) else None)


def _to_host(binding: Any, cards: Iterable[tuple[int, Any]]) -> list[str]:
    found = []
    for index, card in cards:
        generation = _asked(binding, "nvmlDeviceGetMaxPcieLinkGeneration", card)
        width = _asked(binding, "nvmlDeviceGetMaxPcieLinkWidth", card)
        if generation is not None and width is not None:
            found.append(f"{index}: PCIe {generation} x{width}")
    return found


def _between(
    binding: Any, cards: Sequence[tuple[int, Any]], known: dict[int, list[Link]]
) -> list[str]:
    found = []
    places = {index: _place(binding, card) for index, card in cards} if any(known.values()) else {}
    for (one, left), (other, right) in combinations(cards, 2):
        nvlink = binding.NVML_P2P_CAPS_INDEX_NVLINK
        status = _asked(binding, "nvmlDeviceGetP2PStatus", left, right, nvlink)
        if status == binding.NVML_P2P_STATUS_OK and known[one] and known[other]:
            there = _leading(known[one], places[other]), _leading(known[other], places[one])
            if all(there):
                found.append(f"{one}-{other}: NVLink {_words(*there)}")
                continue
        level = _asked(binding, "nvmlDeviceGetTopologyCommonAncestor", left, right)
        if level is not None:
            found.append(f"{one}-{other}: {ANCESTORS.get(level, f'level {level}')}")
    return found


def _leading(own: list[Link], place: _Place | None) -> list[Link]:
    """The links of a card that lead to another one: by a switch all of them do.

    All of them, too, where the driver does not tell.
    """
    direct = [link for link in own if link.to is not None and link.to == place]
    return direct or [link for link in own if link.to in ("switch", None)]


def _words(left: list[Link], right: list[Link]) -> str:
    """What a pair has between it: the fewer links, the older version, and which way they lead."""
    both = [*left, *right]
    versions = {link.version for link in both}
    version = f"{min(versions)} " if all(versions) else ""
    switched = all(link.to == "switch" for link in both)
    direct = all(isinstance(link.to, tuple) for link in both)
    way = " by NVSwitch" if switched else " direct" if direct else ""
    return f"{version}x{min(len(left), len(right))}{way}"


def _nvlinks(binding: Any, card: Any) -> list[Link]:
    """The NVLinks of a card that are up."""
    return [
        Link(
            VERSIONS.get(_asked(binding, "nvmlDeviceGetNvLinkVersion", card, number), ""),
            _speed(binding, card, number),
            _remote(binding, card, number),
        )
        for number in range(binding.NVML_NVLINK_MAX_LINKS)
        if _asked(binding, "nvmlDeviceGetNvLinkState", card, number) == binding.NVML_FEATURE_ENABLED
    ]


def _speed(binding: Any, card: Any, link: int) -> int | None:
    """MB/s of a link by itself, or of all that are up where the driver tells only that."""
    fields = [
        (binding.NVML_FI_DEV_NVLINK_GET_SPEED, link),
        binding.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON,
    ]
    told = _asked(binding, "nvmlDeviceGetFieldValues", card, fields) or ()
    values = (
        int(one.value.uiVal)
        for one in told
        if one.nvmlReturn == binding.NVML_SUCCESS
        and one.valueType == binding.NVML_VALUE_TYPE_UNSIGNED_INT
    )
    return next((value for value in values if value), None)


def _remote(binding: Any, card: Any, link: int) -> _Place | str | None:
    kind = _asked(binding, "nvmlDeviceGetNvLinkRemoteDeviceType", card, link)
    if kind == binding.NVML_NVLINK_DEVICE_TYPE_SWITCH:
        return "switch"
    if kind != binding.NVML_NVLINK_DEVICE_TYPE_GPU:
        return None
    return _placed(_asked(binding, "nvmlDeviceGetNvLinkRemotePciInfo", card, link))


def _place(binding: Any, card: Any) -> _Place | None:
    return _placed(_asked(binding, "nvmlDeviceGetPciInfo", card))


def _placed(info: Any) -> _Place | None:
    return None if info is None else (int(info.domain), int(info.bus), int(info.device))


def _asked(binding: Any, name: str, *arguments: Any) -> Any:
    return optional(binding, lambda: getattr(binding, name)(*arguments))
