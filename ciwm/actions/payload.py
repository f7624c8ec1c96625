"""The payload GitHub leaves for every step, whose parts are checked as they are taken."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def read_payload(variables: Mapping[str, str]) -> dict[str, Any]:
    """The object in the file GITHUB_EVENT_PATH names; raises UsageError when there is none."""
    stated = variables.get("GITHUB_EVENT_PATH")
    if not stated:
        raise UsageError("there is no event: GITHUB_EVENT_PATH is not set")
    try:
        data = json.loads(Path(stated).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the event {stated}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the event {stated} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"the event {stated} is not an object")
    return data


@dataclass(frozen=True)
class Payload:
    """A payload whose parts are checked as they are taken."""

    event: str
    data: dict[str, Any]

    def value(self, *path: str) -> Any:
        """What is at a path; None where a part of it is missing."""
        value: Any = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self, *path: str, optional: bool = False) -> str | None:
        """A text; raises UsageError when it is something else, or missing and not `optional`."""
        value = self.value(*path)
        if value is None and optional:
            return None
        if not isinstance(value, str) or not value:
            raise self.wrong(*path)
        return value

    def sha(self, *path: str) -> str:
        """A full commit id."""
        value = self.value(*path)
        if not isinstance(value, str) or not _SHA.fullmatch(value):
            raise self.wrong(*path)
        return value

    def number(self, *path: str) -> int:
        """A number of a pull request."""
        value = self.value(*path)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.wrong(*path)
        return value

    def wrong(self, *path: str) -> UsageError:
        """The error that names a missing or malformed part."""
        where = ".".join(path)
        return UsageError(
            f"the {self.event} event is not GitHub's: {where} is missing or malformed"
        )
