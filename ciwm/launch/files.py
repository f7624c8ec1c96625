"""Writing a run's files so that a full disk or a kill never leaves half of one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

from ciwm.errors import EnvironmentFailure, UsageError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_MENDS = {
    errno.EACCES: "give yourself the right to write there, or choose",
    errno.EPERM: "give yourself the right to write there, or choose",
    errno.ENOTDIR: "a file is where a folder should be: move it, or choose",
    errno.EEXIST: "a file is where a folder should be: move it, or choose",
}


def write_atomically(path: Path, text: str) -> None:
    """Replace a file by a text, all or nothing; raises EnvironmentFailure naming path and space."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise cannot_write(path, error) from error


def refuse_unrecordable(path: Path, what: str) -> None:
    """Raise UsageError for a path that no record can hold, since records are UTF-8."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError as error:
        shown = str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        raise UsageError(
            f"the name of {what} {shown} is not UTF-8, and cannot be written down",
            "move it to a folder whose name is, or reach it by a link of such a name",
        ) from error


def refuse_unlistable(path: Path, what: str) -> None:
    """Raise UsageError for a path that a PYTHONPATH cannot hold, or no record."""
    refuse_unrecordable(path, what)
    if os.pathsep in str(path) or "\n" in str(path):
        raise UsageError(
            f"{what} {str(path)!r} has a colon or a newline in its name, which would split "
            "PYTHONPATH and lead base and head to other code than their own",
            "give another folder",
        )


def make_folder(path: Path) -> None:
    """Make a folder and its parents; raises EnvironmentFailure naming path and space."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def refuse_unwritable_folder(folder: Path) -> None:
    """Raise EnvironmentFailure for a folder in which nothing can be made; leaves none behind."""
    there = next((one for one in (folder, *folder.parents) if one.exists()), folder)
    if not there.is_dir():
        raise cannot_write(folder, NotADirectoryError(errno.ENOTDIR, "Not a directory"))
    try:  # the mode alone does not say: a file system may be read-only, or root's alone
        Path(tempfile.mkdtemp(prefix=".ciwm-", dir=there)).rmdir()
    except OSError as error:
        raise cannot_write(folder, error) from error


def cannot_write(path: Path, error: OSError) -> EnvironmentFailure:
    """The failure to write a path; of a full disk, with the space that is left there."""
    full = error.errno in _FULL
    mend = "make room, or choose" if full else _MENDS.get(error.errno or 0, "choose")
    return EnvironmentFailure(
        f"cannot write {path}: {error.strerror or error}{f' ({_free(path)})' if full else ''}",
        f"what was written before is still readable; {mend} another place by --out",
    )


def _free(path: Path) -> str:
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    try:
        return f"{shutil.disk_usage(folder or '/').free / 2**20:.1f} MiB free"
    except OSError:
        return "free space unknown"
