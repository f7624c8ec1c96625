"""Probing all cards of a machine one after another, and telling a sick one by the others."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from statistics import median
from typing import TYPE_CHECKING

from ciwm.bench.cards import alone_on, hidden
from ciwm.errors import DeviceError, IncomparableError
from ciwm.launch.probing import Probed, probe
from ciwm.records.probe import Probes, Sick

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable

    from ciwm.records import Environment
    from ciwm.records.probe import ProbeFigure

SIBLINGS_SHARE = 0.9  # of what the other cards of the same name reach (their median)
EXPECTED_SHARE = 0.9  # of what was expected
WAIT_S = 600.0


def probe_all(
    python: str, host: Environment, stop: threading.Event, say: Callable[[str], None]
) -> Probes:
    """Probe each card alone, or the CPU of a machine without; sick ones are named.

    Raises DeviceError when a probe dies or a card never comes free.
    """
    found: list[Probed] = []
    for card in host.accelerators or (None,):
        say("probing the CPU" if card is None else f"probing accelerator {card.index}: {card.name}")
        cards = () if card is None else (card,)
        with alone_on(cards, time.monotonic() + WAIT_S, say, stop) as held:
            variables = hidden(cards, host)
            found.append(probe(python, None if card is None else card.index, variables, stop, held))
    figures = tuple(figure for one in found for figure in one.figures)
    environment = host.model_copy(
        update={
            "interpreter": found[0].journal.interpreter,
            "torch": found[0].journal.torch,
            "torch_build": found[0].journal.torch_build,
        }
    )
    return Probes(
        at=datetime.now(timezone.utc),
        environment=environment,
        figures=figures,
        unprobed=tuple(dict.fromkeys(said for one in found for said in one.unprobed)),
        sick=tuple(_beside_siblings(figures, host)),
    )


def refuse_sick(
    python: str, host: Environment, stop: threading.Event, say: Callable[[str], None]
) -> None:
    """Raise DeviceError for a machine with a card that lags behind the others of its name."""
    sick = probe_all(python, host, stop, say).sick
    if sick:
        first = sick[0]
        raise DeviceError(
            f"accelerator {first.accelerator} is sick: {first.figure} is {first.share:.0%} of what "
            f"{first.than}",
            "see: ciwm probe; or leave it out by CUDA_VISIBLE_DEVICES",
        )


def compared(probes: Probes, expected: Probes, source: str) -> Probes:
    """The probes with what is worse than expected named as sick.

    Raises IncomparableError for what was expected of another machine, or with torch where here
    there is none: copies without it are one core's, and no other figure is measured.
    """
    names = [_names(one) for one in (probes, expected)]
    if names[0] != names[1]:
        raise IncomparableError(
            f"{source} is of {names[1]}, and this machine is {names[0]}",
            "probe a healthy machine of this kind, and expect that",
        )
    have = [one.environment.torch is not None for one in (probes, expected)]
    if have[0] != have[1]:
        told = {True: "with torch", False: "without torch"}
        raise IncomparableError(
            f"{source} was probed {told[have[1]]}, and this was {told[have[0]]}",
            "probe with the same interpreter: --python PYTHON",
        )
    wanted: dict[str, list[ProbeFigure]] = {}
    for figure in expected.figures:
        wanted.setdefault(figure.name, []).append(figure)
    sick = []
    for figure in probes.figures:
        if figure.name in wanted:
            share = _share(figure, median(one.median for one in wanted[figure.name]))
            if share < EXPECTED_SHARE:
                sick.append(_sick(figure, share, f"{source} expects"))
    missing = wanted.keys() - {figure.name for figure in probes.figures}
    sick += [Sick(accelerator=None, figure=name, share=0, than=source) for name in sorted(missing)]
    return probes.model_copy(update={"sick": (*probes.sick, *sick)})


def _names(probes: Probes) -> str:
    host = probes.environment
    return ", ".join(sorted({card.name for card in host.accelerators})) or host.cpu_model


def _beside_siblings(figures: Iterable[ProbeFigure], host: Environment) -> list[Sick]:
    """Figures of a card that the other cards of its name leave behind."""
    name_of = {card.index: card.name for card in host.accelerators}
    groups: dict[tuple[str, str], list[ProbeFigure]] = {}
    for figure in figures:
        if figure.accelerator is not None:
            groups.setdefault((name_of[figure.accelerator], figure.name), []).append(figure)
    sick = []
    for (name, _), group in groups.items():
        for figure in group:
            others = [one.median for one in group if one is not figure]
            if not others:
                continue
            share = _share(figure, median(others))
            if share < SIBLINGS_SHARE:
                sick.append(_sick(figure, share, f"the other {name} have"))
    return sick


def _share(figure: ProbeFigure, other: float) -> float:
    """How well a figure does beside another: 1 is as well, 0.5 half as fast."""
    return figure.median / other if figure.better == "higher" else other / figure.median


def _sick(figure: ProbeFigure, share: float, than: str) -> Sick:
    return Sick(
        accelerator=figure.accelerator, figure=figure.name, share=round(share, 3), than=than
    )
