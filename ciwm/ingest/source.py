"""A file, or folder, of results: opened once, whatever format it turns out to be."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ciwm.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_BYTES = 256 * 2**20
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Source:
    """What was named, and which part of it (`#PART`: a commit, a baseline) where there are some."""

    path: Path
    part: str = ""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder that a tool left."""
        return self.path.is_dir()

    @cached_property
    def text(self) -> str:
        """All of the file; raises UsageError where it is empty, too large, or no text."""
        try:
            data = self._bytes()
            found = data.decode("utf-8-sig")
        except (OSError, EOFError) as error:
            words = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read {self.path}: {words}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.path} is not UTF-8 text: {error}") from error
        if not found.strip():
            raise UsageError(f"{self.path} is empty", "the tool that was to write it did not")
        return found

    def _bytes(self) -> bytes:
        if self.path.stat().st_size > LIMIT_BYTES:
            raise UsageError(f"{self.path} is larger than {LIMIT_BYTES // 2**20} MiB")
        data = self.path.read_bytes()
        if not data.startswith(_GZIP):
            return data
        with gzip.open(self.path) as packed:
            data = packed.read(LIMIT_BYTES + 1)
        if len(data) > LIMIT_BYTES:
            raise UsageError(f"{self.path} is larger than {LIMIT_BYTES // 2**20} MiB, unpacked")
        return data

    @property
    def looks_like_json(self) -> bool:
        """Whether the text begins as JSON does."""
        return not self.is_folder and self.text.lstrip()[:1] in ("{", "[")

    @cached_property
    def documents(self) -> tuple[Any, ...]:
        """The JSON of the file: one document, or one a line; raises UsageError where it is broken.

        NaN is let through, so that the reader can say of what it is the value.
        """
        try:
            return (json.loads(self.text),)
        except RecursionError as error:
            raise UsageError(f"{self.path} is nested too deeply") from error
        except ValueError as error:
            whole = error
        lines = [(i, line) for i, line in enumerate(self.text.splitlines(), 1) if line.strip()]
        found: list[Any] = []
        for number, line in lines:
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                if not found:
                    raise self._broken(str(whole)) from error
                raise self._broken(f"line {number}: {error}") from error
        return tuple(found)

    @property
    def document(self) -> Any:
        """The first JSON document of the file."""
        return self.documents[0]

    def is_object_with(self, *keys: str) -> bool:
        """Whether it is JSON, and its first document an object that has all of these keys."""
        if not self.looks_like_json:
            return False
        first = self.document
        return isinstance(first, dict) and all(key in first for key in keys)

    def _broken(self, what: str) -> UsageError:
        return UsageError(
            f"{self.path} is not whole JSON: {what}",
            "a tool that was stopped while it wrote leaves a file cut short: run it again",
        )
