"""What GitHub told about pull requests, kept so that only open and changed ones are read again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ciwm.errors import CiwmError
from ciwm.launch.cache import cache_root
from ciwm.launch.files import make_folder, write_atomically
from ciwm.records.base import FileT, RecordFile, read_record
from ciwm.records.sync_pulls import LoginCache, PullCache

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "pulls"


class PullShelf:
    """The files about one upstream repository; trouble with them is noted and never fatal."""

    def __init__(self, api_url: str, repository: str) -> None:
        parts = urlsplit(api_url)
        host = f"{parts.hostname or ''}{f'-{parts.port}' if parts.port else ''}"
        self._name = _plain(f"{host}+{repository.lower().replace('/', '+')}")
        self.notes: list[str] = []

    def author(self, login: str) -> PullCache | None:
        """What was kept about an author's pull requests."""
        return self._read(f"of-{login.lower()}", PullCache)

    def keep_author(self, login: str, kept: PullCache) -> None:
        """Keep an author's pull requests."""
        self._write(f"of-{login.lower()}", kept)

    def numbered(self) -> PullCache | None:
        """What was kept about pull requests that were asked for by number."""
        return self._read("numbered", PullCache)

    def keep_numbered(self, kept: PullCache) -> None:
        """Keep pull requests that were asked for by number."""
        self._write("numbered", kept)

    def logins(self) -> dict[str, str]:
        """The logins of mail addresses found earlier."""
        kept = self._read("logins", LoginCache)
        return dict(kept.logins) if kept else {}

    def keep_logins(self, logins: dict[str, str]) -> None:
        """Keep the logins of mail addresses."""
        self._write("logins", LoginCache(logins=logins))

    def _path(self, name: str) -> Path:
        return cache_root() / FOLDER / self._name / f"{_plain(name)}.json"

    def _read(self, name: str, kind: type[FileT]) -> FileT | None:
        try:
            path = self._path(name)
            return read_record(path, kind) if path.is_file() else None
        except CiwmError as error:  # damaged, of another version, out of reach: as good as none
            self._note(f"what GitHub told earlier is of no use: {error.message}")
            return None

    def _write(self, name: str, kept: RecordFile) -> None:
        try:
            path = self._path(name)
            make_folder(path.parent)
            write_atomically(path, kept.to_json())
        except CiwmError as error:
            self._note(f"what GitHub told is not kept: {error.message}")

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _plain(name: str) -> str:
    """A name without what a file name cannot hold."""
    return re.sub(r"[^\w.+\[\]-]", "_", name)
