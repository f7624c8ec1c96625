"""Whether the pin was last moved to an older upstream commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import CiwmError
from ciwm.records.sync_gate import PinMove
from ciwm.upstream.pins import pinned_commit, read_pin
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from ciwm.config import PinConfig
    from ciwm.git import Repository


def pin_moved_back(
    repository: Repository, downstream: str, pin: PinConfig, clone: Repository, package: str
) -> PinMove | None:
    """The newest change of the pin's file or submodule, where it went backwards.

    None as well where the pin before it cannot be read, or is gone from upstream's clone.
    """
    path = pin.file or pin.submodule
    if path is None:
        return None
    plain = f":(top,literal){path.removeprefix('./').rstrip('/')}"
    walk = ("log", "-2", "--format=%H", "--no-show-signature", downstream, "--", plain)
    changed = read(repository, *walk).text.split()
    if len(changed) < 2:  # noqa: PLR2004  set once, never moved
        return None
    try:
        old, new = (
            pinned_commit(clone, read_pin(repository, sha, pin), package) for sha in changed[::-1]
        )
    except CiwmError:
        return None
    asked = ("merge-base", "--is-ancestor", new, old)
    back = old != new and read(clone, *asked, accept=(1,)).status == 0
    return PinMove(sha=changed[0], old=old, new=new) if back else None
