"""Holding the clock of cards while a block is measured on them, where the configuration asks."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.errors import DeviceError
from ciwm.launch.locks import card_name, mark_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ciwm.records import Accelerator

GUARD = Path(__file__).resolve().parent.parent / "devices" / "clock_guard.py"
END_S = 10.0
HINT = "setting clocks takes root: run so, or leave [bench] lock_clocks out"


@contextlib.contextmanager
def held_clocks(cards: Sequence[Accelerator], say: Callable[[str], None]) -> Iterator[None]:
    """Hold NVIDIA cards at their `locked_sm_clock_mhz`, and give the clock back afterwards.

    To be called with the cards' locks held. A clock that a ciwm which was killed had left held is
    given back first. Raises DeviceError when a clock cannot be held; that it cannot be given back
    is said.
    """
    ours = [card for card in cards if card.vendor == "nvidia"]
    forgotten = [card for card in ours if mark_path(card_name(card)).exists()]
    if forgotten:
        _give_back(forgotten, say)
    wanted = [card for card in ours if card.locked_sm_clock_mhz is not None]
    if not wanted:
        yield
        return
    guard = _started(wanted, wanted[0].locked_sm_clock_mhz)
    answer = _line(guard)
    if answer != "held":
        guard.communicate()
        raise DeviceError(f"the clock cannot be held: {answer.removeprefix('error ')}", HINT)
    try:
        yield
    finally:
        _ended(guard, say)


def _give_back(cards: Sequence[Accelerator], say: Callable[[str], None]) -> None:
    names = ", ".join(str(card.index) for card in cards)
    say(f"accelerator {names}: giving back a clock that an earlier ciwm had left held")
    _ended(_started(cards, None), say)


def _started(cards: Sequence[Accelerator], mhz: int | None) -> subprocess.Popen[bytes]:
    request = {
        "path": [*map(os.path.abspath, sys.path), str(GUARD.parents[2])],
        "mhz": mhz,
        "cards": [
            {"index": card.index, "uuid": card.uuid, "mark": str(mark_path(card_name(card)))}
            for card in cards
        ],
    }
    guard = subprocess.Popen(
        [sys.executable, "-I", "-S", str(GUARD)],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    with contextlib.suppress(BrokenPipeError):
        _pipe(guard.stdin).write(json.dumps(request).encode() + b"\n")
    return guard


def _line(guard: subprocess.Popen[bytes]) -> str:
    line: bytes = _pipe(guard.stdout).readline()
    return line.decode("utf-8", "replace").strip() or "its guard died"


def _ended(guard: subprocess.Popen[bytes], say: Callable[[str], None]) -> None:
    """Have the clock given back; say so when that fails."""
    try:
        said = guard.communicate(timeout=END_S)[0].decode("utf-8", "replace").strip()
    except subprocess.TimeoutExpired:
        said = "error the driver did not answer"  # the guard goes on trying
    if said != "given back":
        what = said.removeprefix("error ") or "its guard died"
        say(f"the clock could not be given back: {what}; do it by: nvidia-smi --reset-gpu-clocks")


def _pipe(pipe: Any) -> Any:
    assert pipe is not None  # noqa: S101  we asked for it
    return pipe
