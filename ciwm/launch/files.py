"""Writing a run's files so that a full disk or a kill never leaves half of one."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from ciwm.errors import EnvironmentFailure

if TYPE_CHECKING:
    from pathlib import Path


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


def make_folder(path: Path) -> None:
    """Make a folder and its parents; raises EnvironmentFailure naming path and space."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> EnvironmentFailure:
    """The failure to write a path, with the space that is left where it should have gone."""
    return EnvironmentFailure(
        f"cannot write {path}: {error.strerror or error} ({_free(path)})",
        "what was written before is still readable; make room, or choose another place by --out",
    )


def _free(path: Path) -> str:
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    try:
        return f"{shutil.disk_usage(folder or '/').free / 2**20:.1f} MiB free"
    except OSError:
        return "free space unknown"
