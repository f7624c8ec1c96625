"""Records on disk: one that cannot be written costs itself, and nothing that was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import ENVIRONMENT, INTERRUPTED, NO, EnvironmentFailure
from ciwm.launch.files import make_folder, write_atomically
from ciwm.records.bump import Stage

if TYPE_CHECKING:
    from pathlib import Path


def save(path: Path, text: str) -> str:
    """Write a record, all or nothing; empty, or why it is not on disk, with the space left."""
    try:
        make_folder(path.parent)
        write_atomically(path, text)
    except EnvironmentFailure as error:
        return error.message
    return ""


def unsaved_stages(why: str) -> tuple[Stage, ...]:
    """What the story says of records that are not on disk; nothing where all are."""
    if not why:
        return ()
    hint = "mend what keeps it from being written, or choose another place by --out"
    return (Stage(name="store", status="failed", duration_s=0, message=why, hint=hint),)


def with_unsaved(exit_code: int, why: str) -> int:
    """The exit code once records could not be saved: no and interrupted stay what they are."""
    return ENVIRONMENT if why and exit_code not in (NO, INTERRUPTED) else exit_code
