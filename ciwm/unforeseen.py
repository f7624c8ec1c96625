"""What nobody foresaw, as an error like any other: one line, and where the traceback is."""

from __future__ import annotations

import errno
import os
import tempfile
import traceback

from ciwm.errors import BugError, CiwmError, EnvironmentFailure

# of what the system had no more: room, quota, memory, descriptors; or its disk failed
_OUT_OF = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EIO}


def unforeseen(error: Exception) -> CiwmError:
    """A file or a resource the system refuses is the environment's; the rest is a bug of ours."""
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _OUT_OF):
        where = f"{error.filename}: " if error.filename is not None else ""
        hint = "--debug shows where it was needed"
        return EnvironmentFailure(f"{where}{error.strerror or error}", hint)
    last = "".join(str(error).splitlines()[:1])
    message = f"this is a bug in ciwm: {type(error).__name__}: {last}"
    return BugError(message, _kept_traceback(error))


def _kept_traceback(error: Exception) -> str:
    """Where the traceback is; on a full disk, how to see it."""
    try:
        handle, path = tempfile.mkstemp(prefix="ciwm-bug-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write("".join(traceback.format_exception(error)))
    except OSError:
        return "--debug shows the traceback; please report it"
    return f"the traceback is in {path}; please report it"
