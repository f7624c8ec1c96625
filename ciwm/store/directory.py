"""A store in a directory: gzip'd files, each written whole or not at all."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from typing import TYPE_CHECKING

from ciwm.errors import StoreError
from ciwm.records import Calibration, Run
from ciwm.store.runfile import (
    CALIBRATIONS,
    MARKER,
    MARKER_BYTES,
    README,
    README_BYTES,
    RUNS,
    SIZE_LIMIT_BYTES,
    check_marker,
    check_paths,
    decode,
    encode,
    newest_paths,
    path_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ciwm.store.runfile import Kept

_TEMPORARY = ".tmp-"


class DirectoryStore:
    """Runs as files under `root`; several processes may add at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, run: Run) -> str:
        """Keep a run; see Store."""
        return self._keep(run)

    def add_calibration(self, calibration: Calibration) -> str:
        """Keep a calibration; see Store."""
        return self._keep(calibration)

    def _keep(self, kept: Kept) -> str:
        path, data = path_of(kept), encode(kept)
        self._prepare()
        target = self.root / f"{path}.gz"
        # no time stamp: the same run gives the same bytes
        if not _write_once(target, gzip.compress(data, mtime=0)) and _unzipped(target) != data:
            raise StoreError(f"{target} holds another run of this id")
        return path

    def runs(self) -> Iterator[Run]:
        """All kept runs; see Store. A directory that does not exist holds none."""
        for file in self._files(RUNS):
            yield decode(_unzipped(file), Run, source=str(file))

    def newest(
        self,
        machine: str,
        limit: int,
        wanted: Callable[[str], bool],
        *,
        remote: tuple[str, str | None] | None = None,  # noqa: ARG002  a directory is where it is
    ) -> tuple[Run, ...]:
        """The newest runs of a machine; see Store."""
        if not self.root.exists():
            return ()
        self._check()
        chosen = newest_paths(self._paths(), machine, limit, wanted)
        files = [self.root / f"{path}.gz" for path in chosen]
        return tuple(decode(_unzipped(file), Run, source=str(file)) for file in files)

    def calibrations(self) -> Iterator[Calibration]:
        """All kept calibrations; see Store."""
        for file in self._files(CALIBRATIONS):
            yield decode(_unzipped(file), Calibration, source=str(file))

    def _files(self, kind: str) -> Iterator[Path]:
        if not self.root.exists():
            return
        self._check()
        for path in self._paths():
            if path.startswith(f"{kind}/"):
                yield self.root / f"{path}.gz"

    def push(self, remote: str, token: str | None) -> None:
        """Do nothing: a directory is where it is."""

    def _prepare(self) -> None:
        """Make the directory ours if it is new or empty; raise StoreError if it is another's."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            if all(file.name.startswith(_TEMPORARY) for file in self.root.iterdir()):
                _write_once(self.root / MARKER, MARKER_BYTES)
                _write_once(self.root / README, README_BYTES)
        except OSError as error:
            raise StoreError(f"cannot write to {self.root}: {error.strerror}") from error
        self._check()

    def _check(self) -> None:
        try:
            data = (self.root / MARKER).read_bytes()
        except FileNotFoundError:
            check_marker(None, str(self.root))
        except OSError as error:
            raise StoreError(f"cannot read {self.root / MARKER}: {error.strerror}") from error
        else:
            check_marker(data, str(self.root))

    def _paths(self) -> list[str]:
        found: list[str] = []
        for folder, _, names in os.walk(self.root, onerror=_refuse):
            relative = os.path.relpath(folder, self.root)
            found += [
                os.path.normpath(os.path.join(relative, name))  # noqa: PTH118  text, not files
                for name in names
                if not name.startswith(_TEMPORARY)
            ]
        return check_paths((path.removesuffix(".gz") for path in found), str(self.root))


def _refuse(error: OSError) -> None:
    raise StoreError(f"cannot read {error.filename}: {error.strerror}") from error


def _write_once(target: Path, data: bytes) -> bool:
    """Write a whole file; False when there is one already. A crash leaves no half a file."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)  # noqa: PTH101  mkstemp's own mode would hide it from readers
            os.link(name, target)  # fails when it exists, which a rename would not
        finally:
            os.unlink(name)  # noqa: PTH108
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from error
    return True


def _unzipped(file: Path) -> bytes:
    """A file's content; raises StoreError when it is damaged, or larger than we ever write."""
    try:
        with gzip.open(file) as source:
            data = source.read(SIZE_LIMIT_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"{file} is unreadable: {error}") from error
    if len(data) > SIZE_LIMIT_BYTES:
        raise StoreError(f"{file} unpacks to more than {SIZE_LIMIT_BYTES:,} bytes")
    return data
