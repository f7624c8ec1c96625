"""How NVIDIA cards are connected: each to the host, and each pair, through NVML."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

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


def links(binding: Any, cards: Sequence[tuple[int, Any]]) -> tuple[str, ...]:
    """A line for each card (its index and handle), then for each pair; what is not told, is not."""
    return (*_to_host(binding, cards), *_between(binding, cards))


def _to_host(binding: Any, cards: Iterable[tuple[int, Any]]) -> list[str]:
    found = []
    for index, card in cards:
        generation = _asked(binding, "nvmlDeviceGetMaxPcieLinkGeneration", card)
        width = _asked(binding, "nvmlDeviceGetMaxPcieLinkWidth", card)
        if generation is not None and width is not None:
            found.append(f"{index}: PCIe {generation} x{width}")
    return found


def _between(binding: Any, cards: Sequence[tuple[int, Any]]) -> list[str]:
    found = []
    count = {index: _nvlinks(binding, card) for index, card in cards} if len(cards) > 1 else {}
    for (one, left), (other, right) in combinations(cards, 2):
        nvlink = binding.NVML_P2P_CAPS_INDEX_NVLINK
        status = _asked(binding, "nvmlDeviceGetP2PStatus", left, right, nvlink)
        if status == binding.NVML_P2P_STATUS_OK and min(count[one], count[other]):
            found.append(f"{one}-{other}: NVLink x{min(count[one], count[other])}")
            continue
        level = _asked(binding, "nvmlDeviceGetTopologyCommonAncestor", left, right)
        if level is not None:
            found.append(f"{one}-{other}: {ANCESTORS.get(level, f'level {level}')}")
    return found


def _nvlinks(binding: Any, card: Any) -> int:
    """How many NVLinks of a card are up."""
    states = (
        _asked(binding, "nvmlDeviceGetNvLinkState", card, link)
        for link in range(binding.NVML_NVLINK_MAX_LINKS)
    )
    return sum(state == binding.NVML_FEATURE_ENABLED for state in states)


def _asked(binding: Any, name: str, *arguments: Any) -> Any:
    return optional(binding, lambda: getattr(binding, name)(*arguments))
