"""The conflict regions in the files of a trial merge: how many, where, and what they say."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ciwm.records.sync import Hunk
from ciwm.upstream.debt import net_changes
from ciwm.upstream.objects import raw_objects
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from ciwm.git import Repository

READ_AT_ONCE_BYTES = 32 * 2**20
LARGEST_FILE_BYTES = 128 * 2**20
HUNK_BYTES = 4_000
ALL_HUNKS_BYTES = 200_000


@dataclass(frozen=True)
class FileRegions:
    """All regions of one file are counted; the text of the first ones is kept."""

    count: int
    hunks: tuple[Hunk, ...]


@dataclass
class Regions:
    """Regions by path, and what had to be left out."""

    files: dict[str, FileRegions] = field(default_factory=dict)
    kept_bytes: int = 0
    shortened: int = 0
    dropped: int = 0
    unread: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what the record does not hold."""
        notes = []
        if self.shortened:
            notes.append(f"{self.shortened} conflict hunks are shortened to {HUNK_BYTES} bytes")
        if self.dropped:
            notes.append(
                f"{self.dropped} conflict hunks are counted without their text "
                f"(a report keeps {ALL_HUNKS_BYTES} bytes of them)"
            )
        if self.unread:
            notes.append(
                f"hunks are not counted in {self.unread} conflicted files of more than "
                f"{LARGEST_FILE_BYTES >> 20} MiB"
            )
        return tuple(notes)


def conflict_regions(
    repository: Repository, tree: str, paths: Collection[str], sides: tuple[str, str]
) -> Regions:
    """The regions between the markers git wrote for `sides` (the ids given to merge-tree)."""
    regions = Regions()
    if not paths:
        return regions
    # A file with markers is a new one, so it differs from ours; what does not, has no region.
    merged = {
        change.path: change.new_id
        for change in net_changes(repository, sides[0], tree)
        if change.path in paths and not change.submodule
    }
    sizes = _sizes(repository, merged.values())
    for batch in _batches(merged, sizes, regions):
        contents = raw_objects(repository, [merged[path] for path in batch])
        for path in batch:
            regions.files[path] = _file_regions(contents[merged[path]], sides, regions)
    return regions


def _sizes(repository: Repository, ids: Iterable[str]) -> dict[str, int]:
    """Sizes in bytes of those ids that are there; what the merge removed (id 0) is not."""
    asked = "".join(f"{blob}\n" for blob in ids).encode()
    lines = read(repository, "cat-file", "--batch-check", stdin=asked).text.splitlines()
    answers = (line.split(" ") for line in lines)
    return {answer[0]: int(answer[2]) for answer in answers if answer[1] == "blob"}


def _batches(
    merged: Mapping[str, str], sizes: Mapping[str, int], regions: Regions
) -> Iterator[list[str]]:
    """Paths in groups of some tens of MiB, so that memory has a bound."""
    batch: list[str] = []
    total = 0
    for path, blob in merged.items():
        size = sizes.get(blob)
        if size is None:
            continue
        if size > LARGEST_FILE_BYTES:
            regions.unread += 1
            continue
        if batch and total + size > READ_AT_ONCE_BYTES:
            yield batch
            batch, total = [], 0
        batch.append(path)
        total += size
    if batch:
        yield batch


def _file_regions(content: bytes, sides: tuple[str, str], regions: Regions) -> FileRegions:
    # The labels hold the full ids, so a marker that the file itself contains is none of ours.
    opening = re.compile(rb"<+ %b(?::.*)?\r?\n?" % sides[0].encode())
    closing = re.compile(rb">+ %b(?::.*)?\r?\n?" % sides[1].encode())
    spans: list[tuple[int, list[bytes]]] = []
    inside = False
    for number, line in enumerate(io.BytesIO(content), start=1):
        if opening.fullmatch(line):
            spans.append((number, []))
            inside = True
        if inside:
            spans[-1][1].append(line)
        inside = inside and not closing.fullmatch(line)
    hunks = (_hunk(start, b"".join(lines), regions) for start, lines in spans)
    return FileRegions(len(spans), tuple(hunk for hunk in hunks if hunk is not None))


def _hunk(start_line: int, content: bytes, regions: Regions) -> Hunk | None:
    if len(content) > HUNK_BYTES:
        content = _shortened(content)
        regions.shortened += 1
    if regions.kept_bytes + len(content) > ALL_HUNKS_BYTES:
        regions.dropped += 1
        return None
    regions.kept_bytes += len(content)
    return Hunk(start_line=start_line, text=content.decode("utf-8", "backslashreplace"))


def _shortened(content: bytes) -> bytes:
    """The first and the last lines of a long region."""
    half = HUNK_BYTES // 2
    head = content[:half].rpartition(b"\n")[0] or content[:half]
    tail = content[-half:].partition(b"\n")[2] or content[-half:]
    left_out = content[len(head) : -len(tail)].count(b"\n") - 1
    return b"%b\n[... %d lines left out ...]\n%b" % (head, left_out, tail)
