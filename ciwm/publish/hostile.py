"""The report and the run in an artifact that nobody vouches for: bounded, and strictly as declared.

The artifact holds `report.json` and, where anything was measured, `run/run.json`, as `ciwm ci`
writes them; whatever else is in it is not read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.publish.unpacking import from_archive, from_folder
from ciwm.records import BumpReport, Run, parse_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REPORT, RUN = "report.json", "run/run.json"
WANTED = {REPORT: 8 << 20, RUN: 32 << 20}  # bytes
PARTS_LIMIT = 500_000  # objects, lists and keys: what costs more memory than it has bytes
ARCHIVE_LIMIT_BYTES = 32 << 20


@dataclass(frozen=True)
class Handed:
    """What an untrusted job handed over, as it says itself."""

    report: BumpReport
    run: Run | None


def handed_in_archive(data: bytes) -> Handed:
    """What a zip archive holds; raises UsageError with one line for anything out of bounds."""
    return _handed(from_archive(data, WANTED))


def handed_in(path: Path) -> Handed:
    """What lies at a path: an unpacked artifact, its report.json, or a zip archive."""
    if path.is_symlink() or not path.exists():
        raise UsageError(f"there is no artifact at {path}", "give its folder, or the zip archive")
    if path.is_dir():
        return _handed(from_folder(path, WANTED))
    if path.name == REPORT:
        return _handed(from_folder(path.parent, WANTED))
    if path.stat().st_size > ARCHIVE_LIMIT_BYTES:
        raise UsageError(f"{path} is larger than {ARCHIVE_LIMIT_BYTES >> 20} MiB")
    return handed_in_archive(path.read_bytes())


def _handed(files: Mapping[str, bytes]) -> Handed:
    if REPORT not in files:
        raise UsageError(f"the artifact holds no {REPORT}", "it is what `ciwm ci` writes")
    report = parse_record(_text(files[REPORT], REPORT), BumpReport, REPORT)
    if RUN not in files:
        return Handed(report, None)
    return Handed(report, parse_record(_text(files[RUN], RUN), Run, RUN))


def _text(data: bytes, name: str) -> str:
    if sum(data.count(mark) for mark in (b"{", b"[", b":")) > PARTS_LIMIT:
        raise UsageError(f"{name} of the artifact has more than {PARTS_LIMIT:,} parts")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} of the artifact is not UTF-8") from error
