"""Holds the SM clock of NVIDIA cards, and gives it back whatever becomes of its controller.

A process of its own, started by path as `python -I -S clock_guard.py`; loads no records. It stands
in a session of its own and takes no notice of Ctrl-C. The clock goes back to the driver's rule when
the request pipe ends (told so, or the controller died, by SIGKILL too) or at SIGTERM. Should this
process be killed itself, the marks it leaves tell the next ciwm on the card (`forgotten`).

fd 0  one JSON line: `path` (of imports), `mhz` (null: only give back), and `cards`, each with
      "index", "uuid" and "mark" (a file); then end of file
fd 1  `held`, or `error WORDS`; at the end `given back`, or `error WORDS`
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import Any


def read_line() -> bytes:
    """The first line on fd 0; empty when it is cut off."""
    text = b""
    while not text.endswith(b"\n"):
        part = os.read(0, 1 << 16)
        if not part:
            return b""
        text += part
    return text


def stopped() -> int:
    """A descriptor that is ready once we are told to stop."""
    wake, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return wake


def mark(path: str, mhz: int) -> None:
    """Leave word that the card's clock is held."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
    os.write(handle, f"held at {mhz} MHz by pid {os.getpid()}\n".encode())
    os.close(handle)


def give_back(nvml: Any, held: list[tuple[dict[str, Any], Any]]) -> str:
    """Reset cards, and take the marks of those that were; what failed, or nothing."""
    failures = []
    for card, handle in held:
        try:
            nvml.nvmlDeviceResetGpuLockedClocks(handle)
        except nvml.NVMLError as error:
            failures.append(f"accelerator {card['index']}: {error}")
        else:
            _unlink(card["mark"])
    return "; ".join(failures)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def say(line: str) -> None:
    """Tell the controller, if it still lives."""
    try:
        os.write(1, f"{' '.join(line.split())}\n".encode())
    except OSError:
        pass


def main() -> None:
    """Serve the request on fd 0."""
    wake = stopped()
    line = read_line()
    if not line:
        return
    request = json.loads(line)
    sys.path[:] = request["path"]
    import pynvml as nvml  # noqa: PLC0415

    from ciwm.devices.nvml import handle_of, whole_card  # noqa: PLC0415  by the request's path

    mhz = request["mhz"]
    try:
        nvml.nvmlInit()
        cards = [
            (card, whole_card(nvml, handle_of(nvml, card["index"], card["uuid"])))
            for card in request["cards"]
        ]
    except nvml.NVMLError as error:
        say(f"error {error}")
        return
    if mhz is not None:
        failure, cards = hold(nvml, cards, mhz)
        say(f"error {failure}" if failure else "held")
        if not failure:
            select.select([0, wake], [], [])
    left = give_back(nvml, cards)
    say(f"error {left}" if left else "given back")


def hold(
    nvml: Any, cards: list[tuple[dict[str, Any], Any]], mhz: int
) -> tuple[str, list[tuple[dict[str, Any], Any]]]:
    """Hold cards at a clock; what failed, or nothing, and the cards that are held."""
    held: list[tuple[dict[str, Any], Any]] = []
    for card, handle in cards:
        try:
            mark(card["mark"], mhz)
            nvml.nvmlDeviceSetGpuLockedClocks(handle, mhz, mhz)
        except (nvml.NVMLError, OSError) as error:
            _unlink(card["mark"])
            return str(error), held
        held.append((card, handle))
    return "", held


if __name__ == "__main__":
    main()
