"""Probing one device: its figures, and what it could not be asked."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from ciwm.errors import DeviceError
from ciwm.launch.asking import ask
from ciwm.launch.exits import shortened
from ciwm.records.probe import ProbeFigure

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from ciwm.launch.journal import Journal


class Probed(NamedTuple):
    """What one device could do, what it could not be asked, and what the worker said of itself."""

    figures: tuple[ProbeFigure, ...]
    unprobed: tuple[str, ...]
    journal: Journal


def probe(
    python: str,
    accelerator: int | None,
    variables: Mapping[str, str],
    stop: threading.Event,
    keep_open: Sequence[int] = (),
) -> Probed:
    """Probe the device that a process with these variables sees; some ten seconds.

    Raises DeviceError when the probe itself dies: a card that cannot do this can do nothing.
    """
    where = "the CPU" if accelerator is None else f"accelerator {accelerator}"
    try:
        lines, journal = ask(python, "probe", variables, stop, keep_open)
    except DeviceError as error:
        raise DeviceError(f"the probe of {where}: {error.message}", error.hint) from error
    figures = tuple(
        ProbeFigure(
            accelerator=accelerator,
            what=line["what"],
            dtype=line["dtype"],
            unit=line["unit"],
            better="lower" if line["unit"] == "s" else "higher",
            median=median(line["values"]),
            values=tuple(line["values"]),
        )
        for line in lines
        if line["kind"] == "probe"
    )
    unprobed = tuple(
        shortened(f"{line['what']}: {line['why']}") for line in lines if line["kind"] == "unprobed"
    )
    return Probed(figures, unprobed, journal)
