"""How every file ciwm writes is read, upgraded and refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ciwm.errors import UsageError

_LONGEST = 200  # of a file's own words in an error


class Record(BaseModel):
    """A frozen value; unknown fields and NaN are refused, so that a file says what it means."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        # a NaN that came in unseen must not be written as null, which means "not measured"
        ser_json_inf_nan="constants",
        ser_json_timedelta="float",
        defer_build=True,
    )


class RecordFile(Record):
    """A record that stands alone in a file, and so carries its schema version."""

    CURRENT: ClassVar[int] = 1
    schema_version: int = 1

    def to_json(self) -> str:
        """The record as indented JSON with a final newline."""
        return self.model_dump_json(indent=2) + "\n"

    @classmethod
    def upgrade(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Bring an older file's data to the current schema; the first version has none older."""
        return data


RecordT = TypeVar("RecordT", bound=Record)
FileT = TypeVar("FileT", bound=RecordFile)


def read_record(path: Path, kind: type[FileT]) -> FileT:
    """The record in a file; raises UsageError when it cannot be read, is newer, or is malformed."""
    return parse_record(_text(path), kind, source=str(path))


def read_part(path: Path, kind: type[RecordT]) -> RecordT:
    """A record that has no version of its own, kept beside one that has; raises UsageError."""
    text = _text(path)
    _json_object(text, kind.__name__, str(path))
    return _valid(text, kind, str(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read {path}: it is not UTF-8: {error}") from error


def parse_record(text: str, kind: type[FileT], source: str) -> FileT:
    """The record in a JSON text; `source` names it in errors.

    Types are taken literally ("1" is no number, 1.5 no count). Raises UsageError with one line.
    """
    data = _json_object(text, kind.__name__, source)
    _check_version(data, kind, source)
    current = kind.upgrade(data)
    return _valid(text if current is data else json.dumps(current), kind, source)


def _valid(text: str, kind: type[RecordT], source: str) -> RecordT:
    try:
        # strict, by way of JSON: lists become tuples and text becomes dates, and nothing else
        return kind.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise UsageError(
            f"{source} is not a valid {kind.__name__} record: {_first(error)}"
        ) from error


def _json_object(text: str, name: str, source: str) -> dict[str, Any]:
    try:
        data = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_distinct)
    except RecursionError as error:
        raise UsageError(f"{source} is not JSON that can be read: it is nested too deep") from error
    except ValueError as error:
        raise UsageError(
            f"{source} is not JSON: {_plain(str(error))}", f"expected a {name} record"
        ) from error
    if not isinstance(data, dict):
        raise UsageError(f"{source} is no {name} record: it holds no JSON object")
    return data


def _check_version(data: dict[str, Any], kind: type[RecordFile], source: str) -> None:
    name, version = kind.__name__, data.get("schema_version")
    if version is None:
        raise UsageError(f"{source} is no {name} record: it has no schema_version")
    if type(version) is not int or version < 1:
        raise UsageError(
            f"{source} is no {name} record: its schema_version is {_plain(repr(version))}"
        )
    if version > kind.CURRENT:
        raise UsageError(
            f"{source} was written by a newer ciwm (schema {_plain(str(version))}, this one reads "
            f"{name} up to {kind.CURRENT})",
            "update ciwm: pip install -U ciwm",
        )


def _first(error: ValidationError) -> str:
    """Where the first mistake is and what it is, and how many there are besides."""
    mistakes = error.errors(include_url=False, include_context=False, include_input=False)
    where = ".".join(str(part) for part in mistakes[0]["loc"]) or "(top level)"
    besides = f" (and {len(mistakes) - 1} more)" if len(mistakes) > 1 else ""
    return f"{_plain(where)}: {_plain(mistakes[0]['msg'])}{besides}"


def _plain(text: str) -> str:
    """A file's own words on one line, without control characters, cut short."""
    line = "".join(letter if letter.isprintable() else " " for letter in text[: _LONGEST + 1])
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not allowed")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different; which of two equal ones counts is anyone's guess."""
    data = dict(pairs)
    if len(data) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r} occurs twice")
    return data
