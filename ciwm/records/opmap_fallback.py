"""What ran on the CPU although a device was asked, and which library served the rest."""

from __future__ import annotations

from typing import Literal

from ciwm.records.amounts import Amount, Count
from ciwm.records.base import Record


class FallbackOp(Record):
    """An operator that fell back: calls a step, time a step with all below it, its share.

    `overloads` are calls of each in one step that was traced for it.
    """

    op: str
    overloads: dict[str, Count] = {}
    calls: Amount
    time_s: Amount
    time_share_pct: Amount


class HiddenCopy(Record):
    """A copy to the host below an operator that did not ask for one: suspected, not proven.

    copy    a whole tensor, by the devices in an execution trace
    scalar  one number, for which the host waits
    memcpy  the device's own event, below an operator whose trace shows none
    """

    op: str
    what: Literal["copy", "scalar", "memcpy"]
    calls: Amount


class LibraryUse(Record):
    """A library that served operators: by which kernels or primitives, how often, how long.

    `evidence` says what names it: a kernel's name, an operator's, or the library's own log.
    """

    library: str
    operators: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    calls: Amount
    time_s: Amount
    evidence: str


class WorkloadFallbacks(Record):
    """The steps of one workload on a device, profiled; time shares are of `step_s`."""

    workload: str
    device: str
    steps: Count
    step_s: Amount
    calls: Amount
    time_share_pct: Amount
    ops: tuple[FallbackOp, ...] = ()
    hidden: tuple[HiddenCopy, ...] = ()
    libraries: tuple[LibraryUse, ...] = ()
