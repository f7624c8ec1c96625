"""Child processes: a time limit, a log, no secrets, and no way to outlive us.

A guard process (`guard.py`) stands between us and the command and kills everything the command
started, also when we are killed by SIGKILL ourselves.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from ciwm.credentials import is_secret, without_logins
from ciwm.errors import LaunchError
from ciwm.log_tail import LogTail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

STRIPPED_PREFIXES = ("ACTIONS_", "GITHUB_", "INPUT_", "GIT_CONFIG")
# what `git rev-parse --local-env-vars` names: in a hook they would point a build at our repository
STRIPPED_NAMES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
GRACE_S = 5.0
POLL_S = 0.1  # how often a growing log and `stop` are looked at; an end is noticed at once
LONGEST_WAIT_S = 86400.0  # poll(2) counts milliseconds in an int
GUARD = Path(__file__).with_name("guard.py")

End = Literal["exited", "timeout", "interrupted"]


@dataclass(frozen=True)
class Ended:
    """How a child ended: its status (negative: the signal), how long it ran, and who ended it.

    `peak_rss_bytes` is the resident set of the largest single process the command started, `cpu_s`
    the CPU time of all of them.
    """

    status: int
    duration_s: float
    end: End
    peak_rss_bytes: int
    cpu_s: float = 0.0


def stripped_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Our environment without secrets and without the job's identity, plus `extra`.

    Left out: every variable named like a secret (see credentials.py), user and password in URLs
    (of a package index, a proxy), `GITHUB_*`, `ACTIONS_*` and `INPUT_*` (tokens, command files,
    and what would make a cached build depend on one job), `GIT_CONFIG*` (headers with tokens), and
    the variables by which git hooks redirect git. `extra` may bring any of them back.
    """
    kept = {
        name: without_logins(value)
        for name, value in os.environ.items()
        if not name.startswith(STRIPPED_PREFIXES)
        and name not in STRIPPED_NAMES
        and not is_secret(name)
    }
    return {**kept, **(extra or {})}


def run_logged(
    command: Sequence[str],
    *,
    log: Path,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    on_line: Callable[[str], None] | None = None,
    on_start: Callable[[int], None] | None = None,
    stop: threading.Event | None = None,
    keep_open: Sequence[int] = (),
) -> Ended:
    """Run a command with both outputs appended to `log`; nothing it started is left at the end.

    `on_line` sees each line of output as it comes, `on_start` the command's pid, which leads its
    own process group. After `timeout_s`, or once `stop` is set, the group gets SIGTERM and after
    GRACE_S everything left SIGKILL. Descriptors in `keep_open` (a card's lock) stay open until
    all is gone, even when we are killed. Raises OSError (FileNotFoundError, PermissionError, ...)
    when the command cannot start, LaunchError when the guard cannot.
    """
    deadline = time.monotonic() + timeout_s
    with log.open("ab") as sink:
        tail = LogTail(log, sink.tell(), on_line)
        guard = _Guard(sink, keep_open)
    try:
        guard.request(command, cwd, env)
        end = _follow(guard, tail, deadline, on_start, stop)
    finally:  # after an error or a second Ctrl-C all that still runs is killed at once
        guard.finish()
        tail.close()
    return guard.ended(end)


def _follow(
    guard: _Guard,
    tail: LogTail,
    deadline: float,
    on_start: Callable[[int], None] | None,
    stop: threading.Event | None,
) -> End:
    """Wait for the end of the guard, and see to the log, the clock and `stop` meanwhile."""
    end: End = "exited"
    polled = tail.wanted or stop is not None
    while not guard.over:
        left_s = None if end != "exited" else max(0.0, deadline - time.monotonic())
        guard.wait(min(POLL_S, POLL_S if left_s is None else left_s) if polled else left_s)
        if on_start is not None and guard.pid is not None:
            on_start(guard.pid)
            on_start = None
        tail.show()
        if end == "exited" and not guard.over:
            if stop is not None and stop.is_set():
                end = "interrupted"
            elif time.monotonic() >= deadline:
                end = "timeout"
            if end != "exited":
                guard.stop()
    tail.show_rest()
    return end


class _Guard:
    """Our end of the guard process: the request pipe, the report pipe, and what it reported."""

    def __init__(self, log: IO[bytes], keep_open: Sequence[int]) -> None:
        self.pid: int | None = None
        self.over = False
        self._report = b""
        self._command = self._cwd = ""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(GUARD)],
            cwd="/",
            env=stripped_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            bufsize=0,
            start_new_session=True,
            pass_fds=tuple(keep_open),
        )
        self._poll = select.poll()
        self._poll.register(self._output, select.POLLIN)

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101  we asked for the pipe
        return self._process.stdout

    def request(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        """Ask for the command; a refusal to start it shows in the report."""
        self._command, self._cwd = command[0], str(cwd)
        fields = [str(os.getpid()), str(GRACE_S), str(len(command)), *command, str(cwd)]
        fields += [f"{name}={value}" for name, value in env.items()]
        if any("\0" in field for field in fields):
            raise ValueError("a command, folder or variable holds a NUL byte")
        payload = b"\0".join(os.fsencode(field) for field in fields)
        self._send(b"%d\n" % len(payload) + payload)

    def stop(self) -> None:
        """SIGTERM now, SIGKILL after the grace."""
        self._send(b"T")

    def _send(self, data: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101  we asked for the pipe
        view = memoryview(data)
        with contextlib.suppress(BrokenPipeError, ValueError):  # it has ended, or we closed it
            while view:
                view = view[pipe.write(view) :]

    def wait(self, timeout_s: float | None) -> None:
        """Wait for the next report, at most `timeout_s`; raises OSError when nothing started."""
        limit_ms = None if timeout_s is None else min(timeout_s, LONGEST_WAIT_S) * 1000
        if not self._poll.poll(limit_ms):
            return
        data = self._output.read(4096)
        self._report += data
        self.over = not data
        for line in self._report.split(b"\n")[:-1]:
            word, *rest = line.split()
            if word == b"pid":
                self.pid = int(rest[0])
            elif word == b"error":
                blamed = self._cwd if rest[1] == b"cwd" else self._command
                raise OSError(int(rest[0]), os.strerror(int(rest[0])), blamed)

    def finish(self) -> None:
        """Close the request pipe, at whose end the guard kills what is left, and wait for it."""
        assert self._process.stdin is not None  # noqa: S101  we asked for the pipe
        self._process.stdin.close()
        self._process.wait()
        self._output.close()

    def ended(self, end: End) -> Ended:
        """What the guard reported at last."""
        for line in self._report.split(b"\n"):
            if line.startswith(b"ended "):
                _, status, duration_s, peak, reason, cpu_s = line.split()
                if reason == b"stopped" and end == "exited":
                    end = "interrupted"  # somebody sent the guard SIGTERM: systemd, a runner
                return Ended(int(status), float(duration_s), end, int(peak), float(cpu_s))
        status_of_guard = self._process.returncode
        if status_of_guard < 0:  # killed, and the command with it (its parent-death signal)
            if self.pid is not None:
                with contextlib.suppress(OSError):
                    os.killpg(self.pid, signal.SIGKILL)
            return Ended(status_of_guard, 0.0, end, 0)
        raise LaunchError(
            f"the process that guards a command ended with status {status_of_guard}",
            "its words are in the log",
        )


@contextlib.contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM, SIGINT and SIGHUP set, so that a command saves what it has.

    A second SIGINT raises KeyboardInterrupt. A signal that is ignored (nohup) stays ignored; in a
    thread other than the main one no handler can be set, and the event is only an event.
    """
    event = threading.Event()

    def handler(number: int, _frame: FrameType | None) -> None:
        if event.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        event.set()

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield event
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextlib.contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt, so that temporary folders are removed.

    For commands without anything to save. An ignored signal stays ignored.
    """

    def handler(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
