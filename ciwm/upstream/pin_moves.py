"""Whether the pin was last moved to an older upstream commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.errors import CiwmError
from ciwm.records.sync_gate import PinMove
from ciwm.upstream.names import readable_text
from ciwm.upstream.pins import pinned_commit, read_pin
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from ciwm.config import PinConfig
    from ciwm.git import Repository
    from ciwm.upstream.pins import Pin

LOOKED_AT = 40  # changes of the file: most of a pyproject.toml's leave the pin alone
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)+)")


def pin_moved_back(
    repository: Repository, downstream: str, pin: PinConfig, clone: Repository, package: str
) -> PinMove | None:
    """The newest move of the pin in its file or submodule, where it went backwards.

    That is to a commit which the old pin's history holds already, or to a lower release of another
    branch. `unknown` says why where it cannot be told.
    """
    path = pin.file or pin.submodule
    if path is None:
        return None
    plain = f":(top,literal){path.removeprefix('./').rstrip('/')}"
    walk = ("log", f"-{LOOKED_AT}", "--format=%H", "--no-show-signature", downstream, "--", plain)
    changes = read(repository, *walk).text.split()
    try:
        move = _last_move(repository, changes, pin)
        if move is None:
            return None
        at, before, now = move
        old, new = (pinned_commit(clone, each, package) for each in (before, now))
    except CiwmError as error:
        return PinMove(sha=downstream, old="", new="", unknown=readable_text(error.message))
    backwards = old != new and (_holds(clone, old, new) or _lower(clone, (before, old), (now, new)))
    return PinMove(sha=at, old=old, new=new) if backwards else None


def _last_move(
    repository: Repository, changes: list[str], pin: PinConfig
) -> tuple[str, Pin, Pin] | None:
    """The newest change with another pin before it: its commit, and both pins; None without one."""
    newest = None
    for index, sha in enumerate(changes):
        found = read_pin(repository, sha, pin)
        if newest is not None and found.text != newest.text:
            return changes[index - 1], found, newest
        newest = found
    return None


def _holds(clone: Repository, later: str, earlier: str) -> bool:
    asked = ("merge-base", "--is-ancestor", earlier, later)
    return read(clone, *asked, accept=(1,)).status == 0


def _lower(clone: Repository, before: tuple[Pin, str], now: tuple[Pin, str]) -> bool:
    """Whether a release gave way to a lower one that it did not grow out of."""
    found = [_RELEASE.fullmatch(pin.text) for pin, _ in (before, now)]
    if None in found or _holds(clone, now[1], before[1]):
        return False
    old, new = (tuple(map(int, each[1].split("."))) for each in found if each is not None)
    return new < old
