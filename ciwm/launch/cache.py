"""The cache folder: builds, worktrees, runs and sync results, with sizes, locks and eviction.

An entry is a folder `KIND/NAME` (of drift a file), whose time is when it was last used; its lock
file stands in `locks/`. Whoever uses an entry holds a shared lock, whoever makes or removes it an
exclusive one, so that neither a concurrent job nor a killed one leaves something half made in use.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import stat
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ciwm.errors import EnvironmentFailure
from ciwm.launch.files import refuse_unlistable
from ciwm.launch.flock import Flock

if TYPE_CHECKING:
    from collections.abc import Iterable

Kind = Literal["builds", "worktrees", "runs", "scans", "replays", "drift", "pulls", "extensions"]
LOOSE: tuple[Kind, ...] = ("drift", "pulls")  # without a record: files, or folders of files
RECORD = "record.json"  # written last: an entry of builds or worktrees without it is half made


@dataclass(frozen=True)
class Entry:
    """One folder of the cache; `used_at` in seconds since the epoch, 0 when it is half made."""

    kind: Kind
    name: str
    path: Path
    size_bytes: int
    used_at: float


@dataclass(frozen=True)
class Removal:
    """What became of an entry that was to be removed; `kept_because` is empty when it is gone."""

    entry: Entry
    kept_because: str = ""


def cache_root() -> Path:
    """The cache folder, made when absent: CIWM_CACHE_DIR, else the user's; absolute.

    Raises UsageError for a name that a PYTHONPATH cannot hold.
    """
    import platformdirs  # noqa: PLC0415

    named = os.environ.get("CIWM_CACHE_DIR")
    try:
        root = Path(named).expanduser() if named else platformdirs.user_cache_path("ciwm")
        root = root.absolute()
    except (OSError, RuntimeError) as error:
        raise EnvironmentFailure(
            f"there is no such cache folder: {named or error}", "set CIWM_CACHE_DIR to a folder"
        ) from error
    refuse_unlistable(root, "the cache folder (CIWM_CACHE_DIR)")
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot make the cache folder {root}: {error.strerror}",
            "set CIWM_CACHE_DIR to a folder on a disk with room",
        ) from error
    return root


def kind_directory(kind: Kind) -> Path:
    """The folder of one kind of entry, made when absent."""
    directory = cache_root() / kind
    try:
        directory.mkdir(exist_ok=True)
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot make the cache folder {directory}: {error.strerror}",
            "set CIWM_CACHE_DIR to a folder that can be written",
        ) from error
    return directory


def entry_lock(kind: Kind, name: str) -> Flock:
    """The lock of an entry, not yet taken: take it shared to use the entry."""
    directory = cache_root() / "locks"
    directory.mkdir(exist_ok=True)
    return Flock(directory / f"{kind}-{name}.lock")


def mark_used(path: Path) -> None:
    """Note that an entry is used now; its lock must be held."""
    with contextlib.suppress(FileNotFoundError):
        os.utime(path)


def entries(kind: Kind) -> list[Entry]:
    """All entries of a kind with their sizes on disk, the longest unused first."""
    found = [
        Entry(kind, path.name, path, disk_usage_bytes(path), _used_at(kind, path))
        for path in kind_directory(kind).iterdir()
        if not path.is_symlink() and (path.is_dir() or kind in LOOSE)
    ]
    return sorted(found, key=lambda entry: entry.used_at)


def evict(
    kinds: Iterable[Kind],
    *,
    limit_bytes: float | None = None,
    older_than_s: float | None = None,
    dry_run: bool = False,
) -> list[Removal]:
    """Remove what nobody used for that long, then the longest unused until the rest fits.

    What is in use stays, and is named in the answer. With `dry_run` nothing is removed.
    """
    if not dry_run:
        _empty_trash()
    found = sorted((e for kind in kinds for e in entries(kind)), key=lambda entry: entry.used_at)
    total = sum(entry.size_bytes for entry in found)
    before = time.time() - (math.inf if older_than_s is None else older_than_s)
    limit = math.inf if limit_bytes is None else limit_bytes
    removals = []
    for entry in found:
        if entry.used_at > before and total <= limit:
            break
        removals.append(remove(entry, dry_run=dry_run))
        if not removals[-1].kept_because:
            total -= entry.size_bytes
    return removals


def remove(entry: Entry, *, dry_run: bool = False) -> Removal:
    """Remove an entry unless somebody uses it."""
    lock = entry_lock(entry.kind, entry.name)
    left = None
    try:
        if not lock.take(timeout_s=0):
            return Removal(entry, f"in use by {lock.holder()}")
        if not dry_run:
            left = discard(entry.path)
            lock.path.unlink(missing_ok=True)
    except OSError as error:
        return Removal(entry, f"{error.strerror}: {error.filename}")
    finally:
        lock.release()
    return Removal(entry, f"some of it cannot be removed: {left}" if left else "")


def discard(path: Path) -> Path | None:
    """Put a folder of the cache out of the way and remove it; what of it could not be removed.

    The first step is a rename: a kill half way leaves something in the trash, never an entry that
    is half gone. Raises OSError when the rename fails.
    """
    if not path.exists():
        return None
    trash = cache_root() / "trash"
    trash.mkdir(exist_ok=True)
    doomed = trash / uuid.uuid4().hex
    path.rename(doomed)
    try:
        _remove_tree(doomed)
    except OSError:  # files of another user, made by a container: the next eviction tries again
        return doomed
    return None


def _empty_trash() -> None:
    trash = cache_root() / "trash"
    if trash.is_dir():
        for path in trash.iterdir():
            with contextlib.suppress(OSError):
                _remove_tree(path)


def _remove_tree(path: Path) -> None:
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        path.unlink()
    except PermissionError:  # folders without write permission, as Go's module cache makes them
        for folder, _, _ in os.walk(path):
            with contextlib.suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(path)


def disk_usage_bytes(path: Path) -> int:
    """Space a folder or file takes on disk, a file with several names counted once."""
    if not path.is_dir():
        with contextlib.suppress(OSError):
            return path.lstat().st_blocks * 512
    seen: set[tuple[int, int]] = set()
    total = 0
    for folder, _, names in os.walk(path):
        for name in (".", *names):
            with contextlib.suppress(OSError):
                found = os.lstat(os.path.join(folder, name))  # noqa: PTH118  a million times
                if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                    if (found.st_dev, found.st_ino) in seen:
                        continue
                    seen.add((found.st_dev, found.st_ino))
                total += found.st_blocks * 512
    return total


def _used_at(kind: Kind, path: Path) -> float:
    if kind not in ("runs", *LOOSE) and not (path / RECORD).exists():
        return 0.0
    try:
        inside = path.iterdir() if kind in LOOSE and path.is_dir() else ()
        return max(float(each.stat().st_mtime) for each in (path, *inside))
    except OSError:
        return 0.0
