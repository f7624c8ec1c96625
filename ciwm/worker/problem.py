"""What can go wrong in a workload, named as the controller names it."""

from __future__ import annotations

import os
import traceback
from typing import Optional

OUT_OF_MEMORY_WORDS = ("DefaultCPUAllocator", "out of memory")
TRACEBACK_CHARACTERS = 20_000


class Problem(Exception):  # noqa: N818  reported as a line, not as an error class
    """A failure with the exit reason it stands for: `failed`, `oom` or `invalid`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def reason_of(error: BaseException) -> str:
    """The exit reason an exception stands for."""
    if isinstance(error, Problem):
        return error.reason
    names = [kind.__name__ for kind in type(error).__mro__]
    if isinstance(error, MemoryError) or "OutOfMemoryError" in names:
        return "oom"
    # torch's CPU allocator and older CUDA ones raise a bare RuntimeError
    if isinstance(error, RuntimeError) and any(word in str(error) for word in OUT_OF_MEMORY_WORDS):
        return "oom"
    return "failed"


def one_line(error: BaseException, folder: str) -> str:
    """Type, message, the line that raised, and the innermost of the workload's own folder."""
    if isinstance(error, Problem):
        return str(error)
    words = " ".join(str(error).split())
    if isinstance(error, SystemExit):
        text = f"the workload called sys.exit({words})"
    else:
        text = type(error).__name__ + (": " + words if words else "")
    where = _where(error, folder)
    return f"{text[:400]} ({where})" if where else text[:400]


def _where(error: BaseException, folder: str) -> Optional[str]:
    frames = traceback.extract_tb(error.__traceback__)
    for place, frame in reversed(list(enumerate(frames))):
        if frame.filename.startswith(folder + os.sep):
            called = _told(frame, os.path.basename(frame.filename))
            if place == len(frames) - 1:
                return called
            # Whose fault it is shows where it was raised; two parts tell a package from another.
            parts = frames[-1].filename.rsplit(os.sep, 2)[-2:]
            return f"{_told(frames[-1], '/'.join(parts))}, called at {called}"
    return None


def _told(frame: traceback.FrameSummary, file: str) -> str:
    return f"{file}:{frame.lineno} in {frame.name}"


def full_text(error: BaseException) -> str:
    """The traceback, its end kept when it is long."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return text[-TRACEBACK_CHARACTERS:]
