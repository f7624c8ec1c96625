"""One record, one file: its place in a store, its bytes, and the marker that says it is ours."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeVar

from ciwm.errors import StoreError, UsageError
from ciwm.records import Calibration, Run, parse_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MARKER = "ciwm-store.json"
README = "README.md"
VERSION = 1
# GitHub refuses files over 100 MB; a run that large is a mistake in the workload, say so early
SIZE_LIMIT_BYTES = 95_000_000

MARKER_BYTES = (json.dumps({"format": "ciwm-store", "version": VERSION}) + "\n").encode()
README_BYTES = b"""# Runs kept by ciwm

One file a run: `runs/YEAR/MONTH/MACHINE/ID.json`, MACHINE being the fingerprint of the machine it
was measured on; and, under `calibrations/`, one for each time that a revision was measured against
itself. Files are added and never changed. `ciwm schema Run` and `ciwm schema Calibration` say what
is in them.
"""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_PATH = re.compile(
    r"(runs|calibrations)/\d{4}/\d{2}/[0-9a-f]{16}/[A-Za-z0-9][A-Za-z0-9._-]{0,119}\.json"
)
RUNS, CALIBRATIONS = "runs", "calibrations"
Kept = Run | Calibration
KeptT = TypeVar("KeptT", Run, Calibration)


def path_of(kept: Kept) -> str:
    """The record's path: by year, month and fingerprint, so that no folder grows large."""
    if not _ID.fullmatch(kept.id):
        raise StoreError(
            f"the run's id {kept.id[:120]!r} cannot name a file",
            "use letters, digits, '.', '_' and '-' (at most 120)",
        )
    if isinstance(kept, Run):
        return f"{RUNS}/{kept.started_at:%Y/%m}/{kept.head.environment.fingerprint}/{kept.id}.json"
    return f"{CALIBRATIONS}/{kept.at:%Y/%m}/{kept.environment.fingerprint}/{kept.id}.json"


def encode(kept: Kept) -> bytes:
    """The record as one line of JSON; a run with every sample as it was measured."""
    data = (kept.model_dump_json() + "\n").encode()
    if len(data) > SIZE_LIMIT_BYTES:
        raise StoreError(
            f"run {kept.id} takes {len(data):,} bytes, more than the {SIZE_LIMIT_BYTES:,} a store "
            "keeps in one file",
            "lower the workloads' iterations, or split the run",
        )
    return data


def decode(data: bytes, kind: type[KeptT], source: str) -> KeptT:
    """The record in a file; raises StoreError that names `source`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StoreError(f"{source} is unreadable: {error}") from error
    try:
        return parse_record(text, kind, source=source)
    except UsageError as error:
        raise StoreError(error.message, error.hint) from error


def check_marker(data: bytes | None, source: str) -> None:
    """Raise StoreError unless a store's marker file says that the store is ours, and not newer."""
    if data is None:
        raise StoreError(
            f"{source} was not made by ciwm: it has no {MARKER}",
            "choose another [store] url, such as git:ciwm-data",
        )
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{MARKER} of {source} is unreadable: {error}") from error
    version = content.get("version") if isinstance(content, dict) else None
    if type(version) is not int or content.get("format") != "ciwm-store":
        raise StoreError(f"{source} was not made by ciwm: its {MARKER} says something else")
    if version > VERSION:
        raise StoreError(
            f"{source} was written by a newer ciwm (store version {version}, this one reads up to "
            f"{VERSION})",
            "update ciwm: pip install -U ciwm",
        )


def newest_paths(
    paths: Iterable[str], machine: str, limit: int, wanted: Callable[[str], bool]
) -> list[str]:
    """The paths of the newest runs of a machine with a wanted id: ids begin with their moment."""
    own = [
        path
        for path in sorted(paths)
        if path.startswith(f"{RUNS}/") and path.split("/")[3] == machine
        if wanted(path.rpartition("/")[2].removesuffix(".json"))
    ]
    return own[-limit:]


def check_paths(paths: Iterable[str], source: str) -> list[str]:
    """The paths of records, sorted; raises StoreError when a file is there that is none of ours."""
    kept = []
    for path in sorted(paths):
        if _PATH.fullmatch(path):
            kept.append(path)
        elif path not in (MARKER, README):
            raise StoreError(f"{path} of {source} is no file of ours", "remove it, or ask who did")
    return kept
