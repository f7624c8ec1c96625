"""One job on a card at a time, over all users and jobs of a host."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import DeviceError
from ciwm.launch.flock import Flock

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from ciwm.records import Accelerator

CPU = "cpu"
STICKY_FOR_ALL = 0o1777
# Which folder depends on the host alone, never on the user or on TMPDIR: all jobs must agree.
CANDIDATES = (Path("/run/lock"), Path("/tmp"))  # noqa: S108  files there are opened with O_NOFOLLOW


@contextlib.contextmanager
def card_lock(
    identifier: str,
    *,
    timeout_s: float | None,
    on_wait: Callable[[str], None],
    stop: threading.Event | None = None,
) -> Iterator[int]:
    """Hold the card of this uuid (or "cpu") alone on this host; yields the lock's descriptor.

    Jobs take turns: who gives the card back and wants it again waits behind those who wait.
    `on_wait` is told who holds it. The kernel releases the lock when its holder dies; hand the
    descriptor to `run_logged(keep_open=...)` and it is held until the launch is gone, too. Raises
    DeviceError after `timeout_s` (None: wait), or once `stop` is set.
    """
    lock = Flock(_path(identifier), mode=0o666)
    try:
        taken = _in_turn(identifier, lock, timeout_s, on_wait, stop)
    except OSError as error:
        raise DeviceError(
            f"cannot lock {lock.path}: {error.strerror}", "set CIWM_LOCK_DIR to a folder we may use"
        ) from error
    if not taken:
        raise DeviceError(
            f"{identifier} is busy: held by {lock.holder()}",
            "wait for that job, or give this one another card (CUDA_VISIBLE_DEVICES)",
        )
    try:
        yield lock.fileno
    finally:
        lock.release()


def _in_turn(
    identifier: str,
    lock: Flock,
    timeout_s: float | None,
    on_wait: Callable[[str], None],
    stop: threading.Event | None,
) -> bool:
    """Take the card's lock while holding the place of the next one in turn."""
    began = time.monotonic()
    told: set[str] = set()

    def waiting(_holder: str) -> None:
        line = f"waiting for {identifier}: held by {lock.holder()}"
        if line not in told:
            told.add(line)
            on_wait(line)

    turn = Flock(_path(f"{identifier}.next"), mode=0o666)
    try:
        if not turn.take(timeout_s=timeout_s, on_wait=waiting, stop=stop):
            return False
        left_s = None if timeout_s is None else max(0.0, timeout_s - (time.monotonic() - began))
        return lock.take(timeout_s=left_s, on_wait=waiting, stop=stop)
    finally:
        turn.release()


def lock_directory() -> Path:
    """The folder of the locks: CIWM_LOCK_DIR, else `ciwm` in /run/lock or /tmp.

    Containers do not share these: mount one folder into all of them and name it in CIWM_LOCK_DIR.
    """
    named = os.environ.get("CIWM_LOCK_DIR")
    directory = Path(named) if named else next(p for p in CANDIDATES if _is_shared(p)) / "ciwm"
    try:
        directory.mkdir(parents=named is not None, exist_ok=True)
        if directory.stat().st_uid == os.getuid() and not named:
            directory.chmod(STICKY_FOR_ALL)
    except OSError as error:
        raise DeviceError(
            f"cannot make {directory}: {error.strerror}", "set CIWM_LOCK_DIR to a folder we may use"
        ) from error
    return directory


def card_name(card: Accelerator) -> str:
    """What a card is locked by, the same for all jobs of the host."""
    return f"{card.vendor}-{card.uuid or card.index}"


def mark_path(identifier: str) -> Path:
    """Where word is left that a card's clock is held; beside the card's lock."""
    return _path(identifier).with_suffix(".clock")


def _is_shared(directory: Path) -> bool:
    """Whether every user may make files there; the last candidate is taken in any case."""
    if directory == CANDIDATES[-1]:
        return True
    try:
        mode = directory.stat().st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and mode & STICKY_FOR_ALL == STICKY_FOR_ALL


def _path(identifier: str) -> Path:
    return lock_directory() / (re.sub(r"[^A-Za-z0-9._-]", "_", identifier) + ".lock")
