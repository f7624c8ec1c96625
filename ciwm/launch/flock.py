"""Advisory locks on files: shared or exclusive, released by the kernel when their holder dies.

`filelock` has no shared lock on flock(2) and truncates the file, which here says who holds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

POLL_S = 0.2
HOLDER_BYTES = 400


class Flock:
    """One lock on one path; `fileno` may be handed to a child that shall keep it."""

    def __init__(self, path: Path, mode: int = 0o600) -> None:
        self.path = path
        self.mode = mode
        self._fd: int | None = None

    @property
    def fileno(self) -> int:
        """The descriptor that holds the lock; raises ValueError when it is not held."""
        if self._fd is None:
            raise ValueError(f"{self.path} is not locked")
        return self._fd

    def take(
        self,
        *,
        shared: bool = False,
        timeout_s: float | None = None,
        on_wait: Callable[[str], None] | None = None,
        stop: threading.Event | None = None,
    ) -> bool:
        """Wait for the lock; False when `timeout_s` (None: no limit) is over or `stop` is set.

        `on_wait` is told who holds it, once for every holder. Raises OSError.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        told = None
        while not self._try(shared=shared):
            holder = self.holder()
            if on_wait is not None and holder != told:
                on_wait(holder)
                told = holder
            if deadline is not None and time.monotonic() >= deadline:
                return False
            if stop is not None and stop.is_set():
                return False
            time.sleep(POLL_S if deadline is None else min(POLL_S, max(0.01, deadline - _now())))
        if not shared:
            self._sign()
        return True

    def share(self) -> bool:
        """Turn the exclusive lock into a shared one; False when somebody slipped in between."""
        fcntl.flock(self.fileno, fcntl.LOCK_SH)
        return self._is_current()

    def release(self) -> None:
        """Give the lock back; nothing when it is not held."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def holder(self) -> str:
        """What the last exclusive holder wrote about itself."""
        with contextlib.suppress(OSError):
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                text = os.read(fd, HOLDER_BYTES).decode("utf-8", "replace")
            finally:
                os.close(fd)
            return "".join(c for c in text if c.isprintable()) or "another process"
        return "another process"

    def _try(self, *, shared: bool) -> bool:
        if self._fd is None:
            self._fd = _opened(self.path, self.mode)
        try:
            fcntl.flock(self._fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if not self._is_current():
                self.release()
            return False
        if not self._is_current():  # removed while we waited: a lock on nothing
            self.release()
            return self._try(shared=shared)
        return True

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.fileno), self.path.stat())
        except FileNotFoundError:
            return False

    def _sign(self) -> None:
        with contextlib.suppress(OSError):
            os.ftruncate(self.fileno, 0)
            os.pwrite(self.fileno, _signature().encode()[:HOLDER_BYTES], 0)


def _opened(path: Path, mode: int) -> int:
    """Open or create, never through a link.

    Two steps, because in a sticky folder Linux refuses O_CREAT on another user's existing file
    (fs.protected_regular).
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(10):
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        with contextlib.suppress(FileExistsError):
            fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
            os.fchmod(fd, mode)  # the umask must not shut other users out
            return fd
    return os.open(path, flags)


def _signature() -> str:
    """Who we are, for those who wait: process, host, and the CI job when there is one."""
    job = [os.environ.get(name, "") for name in ("GITHUB_REPOSITORY", "GITHUB_JOB")]
    run = os.environ.get("GITHUB_RUN_ID", "")
    named = " ".join(part for part in (*job, f"run {run}" if run else "") if part)
    return f"pid {os.getpid()} on {socket.gethostname()}" + (f", {named}" if named else "")


def _now() -> float:
    return time.monotonic()
