"""Tasks in forked children, so that a crash or a hang costs one task and not the rest.

The parent never touches the device: a context made before a fork is useless after it. On devices a
child does one task, because a fault poisons its context for all that come after; on the CPU it
goes on until something kills it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence

Line = Dict[str, Any]
Emit = Callable[[Line], None]


class Limits(NamedTuple):
    """How many children at once, tasks a child, and seconds a task."""

    children: int = 1
    tasks_per_child: int = 1_000_000
    timeout_s: float = 60.0


class _Child:
    """One forked child: the pipe its tasks go down, and the one its lines come up."""

    def __init__(self, work: Callable[[str, Emit], None], others: Sequence["_Child"]) -> None:
        down_read, self._down = os.pipe()
        self.up, up_write = os.pipe()
        self.task: Optional[str] = None
        self.done = 0
        self.deadline = 0.0
        self._rest = b""
        self.pid = os.fork()
        if self.pid == 0:  # pragma: no cover  in the child
            _serve(work, down_read, up_write, [self._down, self.up, *_descriptors(others)])
        os.close(down_read)
        os.close(up_write)

    def give(self, task: str, timeout_s: float) -> None:
        """Hand the next task over."""
        self.task = task
        self.deadline = time.monotonic() + timeout_s
        with contextlib.suppress(BrokenPipeError):  # it died between two: its end is read elsewhere
            os.write(self._down, task.encode() + b"\n")

    def lines(self) -> Optional[List[Line]]:
        """What has come up; None at its end."""
        data = os.read(self.up, 1 << 16)
        if not data:
            return None
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in whole]

    def end(self, kill: bool = False) -> int:  # noqa: FBT001, FBT002
        """Let it go, or kill it; its wait status."""
        os.close(self._down)
        os.close(self.up)
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        return os.waitpid(self.pid, 0)[1]

    @property
    def descriptors(self) -> List[int]:
        """Our ends of its pipes."""
        return [self._down, self.up]


def _descriptors(children: Sequence[_Child]) -> List[int]:
    return [number for child in children for number in child.descriptors]


def _serve(
    work: Callable[[str, Emit], None], down: int, up: int, strange: Sequence[int]
) -> None:  # pragma: no cover  in the child
    """Do tasks until there are none; never returns."""
    status = 1
    try:
        _die_with_parent()
        for number in strange:  # a sibling's pipe held open here would hide its end
            os.close(number)

        def emit(line: Line) -> None:
            _write(up, {"line": line})

        with os.fdopen(down, "r", encoding="utf-8") as tasks:
            for task in tasks:
                work(task.rstrip("\n"), emit)
                _write(up, {"done": True})
        status = 0
    except BaseException as error:  # noqa: BLE001  its words are worth more than its type
        words = " ".join(str(error).split())[:300]
        _write(up, {"failed": type(error).__name__ + ": " + words})
    finally:
        os._exit(status)


def _write(up: int, line: Line) -> None:
    data = json.dumps(line).encode() + b"\n"
    while data:
        data = data[os.write(up, data) :]


def _die_with_parent() -> None:
    """Ask Linux for SIGKILL when the parent dies; elsewhere the closed pipe ends us later."""
    import ctypes

    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (OSError, AttributeError):
        return


def run_isolated(
    tasks: Sequence[str],
    work: Callable[[str, Emit], None],
    emit: Emit,
    lost: Callable[[str, str, str], None],
    limits: Limits,
) -> None:
    """Do every task in children; `lost(task, "crash" | "timeout" | "error", detail)` for the rest.

    Each line a task emits is passed on at once.
    """
    waiting: Deque[str] = deque(tasks)
    children: List[_Child] = []
    try:
        while waiting or children:
            while waiting and len(children) < limits.children:
                children.append(_Child(work, children))
                children[-1].give(waiting.popleft(), limits.timeout_s)
            for child in _ready(children):
                if not _advance(child, waiting, emit, lost, limits):
                    children.remove(child)
            _kill_late(children, lost, limits)
    finally:
        for child in children:
            child.end(kill=True)


def _ready(children: Sequence[_Child]) -> List[_Child]:
    left = min(child.deadline for child in children) - time.monotonic()
    readable, _, _ = select.select([child.up for child in children], [], [], max(0.0, left))
    return [child for child in children if child.up in readable]


def _advance(
    child: _Child,
    waiting: Deque[str],
    emit: Emit,
    lost: Callable[[str, str, str], None],
    limits: Limits,
) -> bool:
    """Pass on what a child says; False once it is gone."""
    lines = child.lines()
    if lines is None:
        status = child.end()
        if child.task is not None:
            lost(child.task, "crash", _status(status))
        return False
    for line in lines:
        if "line" in line:
            emit(line["line"])
        elif "failed" in line:
            lost(child.task or "", "error", line["failed"])
            child.task = None
        else:
            child.task = None
            child.done += 1
            if child.done >= limits.tasks_per_child or not waiting:
                child.end()
                return False
            child.give(waiting.popleft(), limits.timeout_s)
    return True


def _kill_late(
    children: List[_Child], lost: Callable[[str, str, str], None], limits: Limits
) -> None:
    now = time.monotonic()
    for child in [each for each in children if each.deadline <= now]:
        children.remove(child)
        child.end(kill=True)
        lost(child.task or "", "timeout", f"not done after {limits.timeout_s:g} s")


def _status(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        names = {each.value: each.name for each in signal.Signals}
        return "killed by " + names.get(number, f"signal {number}")
    return f"exited with {os.WEXITSTATUS(status)}"
