"""Manifest: which operators a backend has kernels for, dumped where the backend imports."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import model_validator

from ciwm.records.base import Record, RecordFile
from ciwm.records.opmap_provenance import Provenance

RowKind = Literal["kernel", "backend fallback", "default backend kernel", "math kernel", "missing"]


class ManifestRow(Record):
    """What the dispatcher has for one operator: the kind of kernel, and where it was registered."""

    kind: RowKind
    registered_at: str = ""


def _full(op: str) -> str:
    """An operator's name with its namespace."""
    return op if "::" in op else f"aten::{op}"


class Manifest(RecordFile):
    """The dispatcher's table for one key; operators are grouped by kind and registering file.

    `rows[kind][file]` lists operators without the `aten::` of their namespace, so that the file
    stays small enough to be kept beside code. `fallback_files` are files whose registrations are
    fallbacks to the CPU although the dispatcher calls them kernels. `codegen` says whether
    Inductor generates code for the device.
    """

    name: str
    key: str
    provenance: Provenance
    rows: dict[RowKind, dict[str, tuple[str, ...]]]
    fallback_files: tuple[str, ...] = ()
    codegen: bool = False

    @model_validator(mode="after")
    def _one_row_each(self) -> Manifest:
        groups = (ops for files in self.rows.values() for ops in files.values())
        counts = Counter(_full(op) for ops in groups for op in ops)
        twice = next((op for op, count in counts.items() if count > 1), None)
        if twice is not None:
            raise ValueError(f"the operator {twice} occurs twice")
        return self

    def table(self) -> dict[str, ManifestRow]:
        """Every operator by its full name."""
        return {
            _full(op): ManifestRow(kind=kind, registered_at=file)
            for kind, files in self.rows.items()
            for file, ops in files.items()
            for op in ops
        }
