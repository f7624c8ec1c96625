"""Whose a process on a card is: the launch's own, somebody else's, or hidden from us."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

PROC = Path("/proc")
DEEPEST = 64  # generations between a worker and us
# what a process that works on a card has mapped
MARKS = (b"nvidia", b"libcuda", b"/dev/kfd", b"libamdhip", b"libhsa")


class Owner(NamedTuple):
    """`hidden` is a process of another PID namespace, or one that has just ended."""

    whose: Literal["own", "foreign", "hidden"]
    name: str = ""


HIDDEN = Owner("hidden")


class Owners:
    """Answers by pid, and remembers: a card's process list is long-lived beside our readings."""

    def __init__(self, controller: int, proc: Path = PROC) -> None:
        self._controller = controller
        self._proc = proc
        self._known: dict[int, Owner] = {}

    def of(self, pid: int) -> Owner:
        """Own is what descends from the controller: all that launches start does.

        In a container a driver may number processes as the host does. So a process of ours by
        that number which has nothing of a driver mapped is not the one that is meant.
        """
        if pid in self._known:
            return self._known[pid]
        found = self._looked_up(pid)
        if found.whose != "hidden":
            self._known[pid] = found
        return found

    def _looked_up(self, pid: int) -> Owner:
        at, name = pid, ""
        for _ in range(DEEPEST):
            stat = self._stat(at)
            if stat is None:
                return HIDDEN
            name = name or stat[0]
            if at == self._controller:
                return Owner("own", name)
            if stat[1] == 0:
                break
            at = stat[1]
        return Owner("foreign", name) if self._uses_a_card(pid) else HIDDEN

    def _stat(self, pid: int) -> tuple[str, int] | None:
        """A process' name and its parent."""
        try:
            text = (self._proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        head, _, rest = text.rpartition(")")
        return head.partition("(")[2] or "?", int(rest.split()[1])

    def _uses_a_card(self, pid: int) -> bool:
        try:
            maps = (self._proc / str(pid) / "maps").read_bytes()
        except OSError:  # another user's: we cannot look, and believe the driver
            return True
        return any(mark in maps for mark in MARKS)
