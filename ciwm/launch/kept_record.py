"""One record kept in the cache under a name: found again, or made anew, never an error."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from ciwm.errors import CiwmError
from ciwm.launch.cache import RECORD, entry_lock, evict, kind_directory, mark_used
from ciwm.records.base import RecordFile, read_record

if TYPE_CHECKING:
    from ciwm.launch.cache import Kind

KEPT_BYTES = 256 * 2**20
KEPT_S = 180 * 86400.0
WAIT_S = 5.0

KeptT = TypeVar("KeptT", bound=RecordFile)


def kept_record(kind: Kind, name: str, model: type[KeptT]) -> tuple[KeptT | None, str]:
    """The record kept under a name and nothing to say, or None and why an entry is of no use."""
    try:
        folder = kind_directory(kind) / name
        if not (folder / RECORD).exists():
            return None, ""
        record = read_record(folder / RECORD, model)
        mark_used(folder)
    except (CiwmError, OSError) as error:
        return None, f"what an earlier report kept is of no use: {_words(error)}"
    return record, ""


def keep_record(kind: Kind, name: str, record: RecordFile) -> str:
    """Keep a record in place of an older one; a sentence when that cannot be done."""
    try:
        _write(kind, name, record)
        evict((kind,), limit_bytes=KEPT_BYTES, older_than_s=KEPT_S)
    except (CiwmError, OSError) as error:
        return f"nothing could be kept for the next report: {_words(error)}"
    return ""


def _write(kind: Kind, name: str, record: RecordFile) -> None:
    folder = kind_directory(kind) / name
    lock = entry_lock(kind, name)
    if not lock.take(timeout_s=WAIT_S):
        return  # another report of the same keeps the same
    try:
        folder.mkdir(exist_ok=True)
        half = folder / f".{os.getpid()}"
        half.write_text(record.to_json(), encoding="utf-8")
        half.replace(folder / RECORD)
    finally:
        lock.release()


def _words(error: CiwmError | OSError) -> str:
    return error.message if isinstance(error, CiwmError) else str(error)
