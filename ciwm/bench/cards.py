"""The cards of a host that a workload runs on: which, held alone, and the others out of sight."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from ciwm.errors import DeviceError
from ciwm.launch.locks import CPU, card_lock, card_name

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from ciwm.config import WorkloadConfig
    from ciwm.records import Accelerator, Environment

# variables that let some of a vendor's devices through, by their index
BY_INDEX = {"npu": "ASCEND_RT_VISIBLE_DEVICES", "xpu": "ZE_AFFINITY_MASK"}


@contextlib.contextmanager
def alone_on(
    cards: Sequence[Accelerator],
    deadline: float,
    say: Callable[[str], None],
    stop: threading.Event,
) -> Iterator[list[int]]:
    """Hold the locks of the cards, or of the CPU; in one order everywhere, so none deadlock.

    `deadline` is monotonic time. Raises DeviceError when one is not free by then.
    """
    names = sorted(map(card_name, cards)) or [CPU]
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                card_lock(
                    name,
                    timeout_s=max(deadline - time.monotonic(), 0.0),
                    on_wait=say,
                    stop=stop,
                )
            )
            for name in names
        ]


def cards_for(workload: WorkloadConfig, host: Environment) -> tuple[Accelerator, ...]:
    """The cards a workload runs on, none on a host without; DeviceError when it needs more.

    Those of another node are its launcher's to give.
    """
    cards = () if workload.launcher else host.accelerators
    if cards and workload.devices > len(cards):
        raise DeviceError(
            f"workload {workload.id} needs {workload.devices} cards; this host shows {len(cards)}",
            "see CUDA_VISIBLE_DEVICES, or choose another runner",
        )
    return cards[: workload.devices]


def watched_hz(workload: WorkloadConfig, hz: float) -> float:
    """Readings a second of this machine; none of one that a launcher may not even use."""
    return 0.0 if workload.launcher else hz


def hidden(cards: Sequence[Accelerator], host: Environment) -> dict[str, str]:
    """What hides the cards that are not locked from a launch; nothing where all are."""
    if not cards or len(cards) >= len(host.accelerators):
        return {}
    vendor = cards[0].vendor
    if vendor == "nvidia":
        names = [card.uuid or "" for card in cards]
        return {"CUDA_VISIBLE_DEVICES": ",".join(names)} if all(names) else {}
    indices = ",".join(str(card.index) for card in cards)
    if vendor == "amd":  # HIP counts what ROCr lets through
        renumbered = ",".join(map(str, range(len(cards))))
        return {"ROCR_VISIBLE_DEVICES": indices, "HIP_VISIBLE_DEVICES": renumbered}
    return {BY_INDEX[vendor]: indices} if vendor in BY_INDEX else {}
