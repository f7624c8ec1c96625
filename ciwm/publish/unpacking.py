"""Taking the few files we read out of an artifact that a stranger may have packed.

Nothing is written to disk, nothing is read beyond a stated size, and what a packer of ours would
not have made (links, paths that lead outside, two files of one name) has the whole refused.
"""

from __future__ import annotations

import os
import stat
import zipfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILES_LIMIT = 5_000
TOTAL_LIMIT_BYTES = 512 << 20  # of all files, unpacked
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_SHOWN = 80


def from_archive(data: bytes, wanted: Mapping[str, int]) -> dict[str, bytes]:
    """The wanted files (name: most bytes) of a zip archive; raises UsageError for a hostile one."""
    with _reading(), zipfile.ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
        _check_count(len(members))
        names = [_name(member) for member in members]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"the artifact holds two files named {_shown(twice)}")
        _check_total(sum(member.file_size for member in members))
        found = {}
        for member in members:
            if member.filename in wanted:
                found[member.filename] = _unpacked(archive, member, wanted[member.filename])
    return found


def from_folder(folder: Path, wanted: Mapping[str, int]) -> dict[str, bytes]:
    """The wanted files of a folder into which an artifact was unpacked; raises UsageError."""
    total = 0
    for count, path in enumerate(_walked(folder), 1):
        mode = path.lstat()
        if stat.S_ISLNK(mode.st_mode):
            raise UsageError(f"the artifact holds a symbolic link: {_inside(path, folder)}")
        if not stat.S_ISREG(mode.st_mode) and not stat.S_ISDIR(mode.st_mode):
            raise UsageError(f"the artifact holds no plain file: {_inside(path, folder)}")
        total += mode.st_size if stat.S_ISREG(mode.st_mode) else 0
        _check_count(count)
        _check_total(total)
    return {
        name: _read(folder / name, name, most)
        for name, most in wanted.items()
        if (folder / name).is_file()
    }


@contextmanager
def _reading() -> Iterator[None]:
    """What zipfile raises for an archive that is damaged, cut off, or a lie."""
    try:
        yield
    except UsageError:
        raise
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, RuntimeError) as error:
        raise UsageError(f"the artifact cannot be unpacked: {_shown(str(error))}") from error
    except (ValueError, NotImplementedError, UnicodeError, IndexError) as error:
        raise UsageError(f"the artifact is no zip archive: {_shown(str(error))}") from error
    except Exception as error:
        if type(error).__module__ == "zlib":  # zlib.error has no better base
            raise UsageError("the artifact cannot be unpacked: it is damaged") from error
        raise


def _name(member: zipfile.ZipInfo) -> str:
    """A member's name, once it is one that stays inside."""
    # of a name with a NUL, zipfile keeps what is before it
    name = member.orig_filename
    parts = name.split("/")
    absolute = name.startswith("/") or "\\" in name or ":" in parts[0]
    if absolute or ".." in parts or "\0" in name or not name:
        raise UsageError(f"the artifact holds a path that leads outside: {_shown(name)}")
    mode = member.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise UsageError(f"the artifact holds a symbolic link: {_shown(name)}")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UsageError(f"the artifact holds no plain file: {_shown(name)}")
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _PLAIN:
        raise UsageError(f"the artifact holds a file packed in an unusual way: {_shown(name)}")
    return name


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """One member, of which no more than its limit is ever unpacked, whatever its header says."""
    with archive.open(member) as file:
        data = file.read(most + 1)
    return _within(data, member.filename, most)


def _read(path: Path, name: str, most: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(descriptor, "rb") as file:
            return _within(file.read(most + 1), name, most)
    except OSError as error:
        raise UsageError(f"cannot read {name} of the artifact: {error.strerror}") from error


def _within(data: bytes, name: str, most: int) -> bytes:
    if len(data) > most:
        raise UsageError(f"{name} of the artifact is larger than {most >> 20} MiB")
    return data


def _walked(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder, followlinks=False):
        for name in (*folders, *files):
            yield Path(here, name)


def _check_count(count: int) -> None:
    if count > FILES_LIMIT:
        raise UsageError(f"the artifact holds more than {FILES_LIMIT:,} files")


def _check_total(total: int) -> None:
    if total > TOTAL_LIMIT_BYTES:
        raise UsageError(f"the artifact unpacks to more than {TOTAL_LIMIT_BYTES >> 20} MiB")


def _inside(path: Path, folder: Path) -> str:
    return _shown(str(path.relative_to(folder)))


def _shown(text: str) -> str:
    """A stranger's words on one line, as Python writes what is not printable, cut short."""
    line = ascii(text)[1:-1]
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."
