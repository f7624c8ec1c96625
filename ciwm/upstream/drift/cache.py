"""Indexes kept between reports: one file for each upstream tree, the newest few of them."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import sys
from typing import TYPE_CHECKING

from ciwm.errors import CiwmError
from ciwm.launch.cache import kind_directory
from ciwm.upstream.drift.index import UNREAD, no_collection
from ciwm.upstream.drift.symbols import from_data, to_data

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ciwm.upstream.drift.index import Blobs, Index

KEPT = 24  # a file holds one or two MB
_FORM = 5  # to be raised when summaries change


def load_index(tree_id: str, folders: Mapping[str, str], blobs: Blobs) -> bool:
    """Add the summaries kept for a tree; False when there are none that can be read."""
    try:
        path = _place(tree_id, folders)
        with no_collection():
            data = json.loads(gzip.decompress(path.read_bytes()))
            summaries = {
                blob: from_data(row)
                for blob, row in data["summaries"].items()
                if blob not in blobs.summaries
            }
        unparsed = {str(blob): str(reason) for blob, reason in data["unparsed"].items()}
    except FileNotFoundError:
        return False
    except (CiwmError, OSError, EOFError, ValueError, KeyError, TypeError, AttributeError):
        return False  # half written by a killed machine, or edited, or out of reach: made anew
    blobs.summaries |= summaries
    blobs.unparsed |= unparsed
    with contextlib.suppress(OSError):
        os.utime(path)
    return True


def save_index(index: Index, folders: Mapping[str, str]) -> str:
    """Keep an index, and only the newest few; a sentence when that cannot be done.

    One with contents missing is not kept: they may be here the next time.
    """
    wanted = {module.blob for module in index.modules.values()}
    summaries, unparsed = index.blobs.summaries, index.blobs.unparsed
    if any(unparsed.get(blob) == UNREAD for blob in wanted):
        return ""
    data = {
        "summaries": {blob: to_data(summaries[blob]) for blob in wanted if blob in summaries},
        "unparsed": {blob: unparsed[blob] for blob in wanted if blob in unparsed},
    }
    try:
        path = _place(index.tree.id, folders)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_bytes(gzip.compress(json.dumps(data).encode(), compresslevel=1))
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)  # of a full disk
        with contextlib.suppress(OSError):  # another report removes the same
            _remove_old(path.parent)
    except (CiwmError, OSError) as error:
        why = error.message if isinstance(error, CiwmError) else str(error)
        return f"nothing could be kept for the next report: {why}"
    return ""


def _place(tree_id: str, folders: Mapping[str, str]) -> Path:
    """The name says all that a summary depends on: the tree, the packages, and our parser."""
    told = json.dumps([_FORM, sys.version_info[:2], tree_id, sorted(folders.items())])
    name = hashlib.sha256(told.encode()).hexdigest()[:32]
    return kind_directory("drift") / f"{name}.json.gz"


def _remove_old(folder: Path) -> None:
    kept = sorted(folder.glob("*.json.gz"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[KEPT:]:
        path.unlink(missing_ok=True)
