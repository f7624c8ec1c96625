"""How every file ciwm writes is read, upgraded and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ciwm.errors import UsageError


class Record(BaseModel):
    """A frozen value; unknown fields and NaN are refused, so that a file says what it means."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_timedelta="float"
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


FileT = TypeVar("FileT", bound=RecordFile)


def read_record(path: Path, kind: type[FileT]) -> FileT:
    """The record in a file; raises UsageError when it cannot be read, is newer, or is malformed."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return parse_record(text, kind, source=str(path))


def parse_record(text: str, kind: type[FileT], source: str) -> FileT:
    """The record in a JSON text; `source` names it in errors."""
    name = kind.__name__
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not JSON: {error}", f"expected a {name} record") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise UsageError(f"{source} is no {name} record: it has no schema_version")
    if version > kind.CURRENT:
        raise UsageError(
            f"{source} was written by a newer ciwm (schema {version}, this one reads "
            f"{name} up to {kind.CURRENT})",
            "update ciwm: pip install -U ciwm",
        )
    try:
        return kind.model_validate(kind.upgrade(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "(top level)"
        raise UsageError(
            f"{source} is not a valid {name} record: {where}: {first['msg']}"
        ) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not allowed")
