"""Child processes: their own group, a time limit, a log, and no way to outlive us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

SECRET_PREFIXES = ("ACTIONS_", "INPUT_")
SECRET_NAMES = frozenset(
    {
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "CIWM_TOKEN",
        "GITHUB_ENV",
        "GITHUB_PATH",
        "GITHUB_OUTPUT",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
    }
)
GRACE_S = 5.0

End = Literal["exited", "timeout", "interrupted"]


@dataclass(frozen=True)
class Ended:
    """How a child ended: its status (negative: the signal), how long it ran, and who ended it."""

    status: int
    duration_s: float
    end: End
    peak_rss_bytes: int


def stripped_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Our environment without tokens and the runner's command files, plus `extra`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in SECRET_NAMES and not name.startswith(SECRET_PREFIXES)
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
) -> Ended:
    """Run a command in a group of its own with both outputs in `log`; kill the group at the end.

    `on_line` sees each line of output as it comes, `on_start` the pid. Setting `stop` ends the
    child early. Raises FileNotFoundError or PermissionError when it cannot start.
    """
    started = time.monotonic()
    with log.open("ab") as sink:
        child = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        if on_start is not None:
            on_start(child.pid)
        end = _wait(child, started + timeout_s, log, on_line, stop)
    finally:
        _kill_group(child)
    return Ended(child.returncode, time.monotonic() - started, end, 0)


def _wait(
    child: subprocess.Popen[bytes],
    deadline: float,
    log: Path,
    on_line: Callable[[str], None] | None,
    stop: threading.Event | None,
) -> End:
    with log.open("rb") as source:
        source.seek(0, os.SEEK_END)
        while True:
            ended = child.poll() is not None
            for line in source:
                if on_line is not None:
                    on_line(line.decode("utf-8", "replace").rstrip("\n"))
            if ended:
                return "exited"
            if stop is not None and stop.is_set():
                return "interrupted"
            if time.monotonic() > deadline:
                return "timeout"
            time.sleep(0.01)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """SIGTERM, a grace, then SIGKILL to the whole group, so that no grandchild stays behind."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
