"""Provenance: where a map or a manifest comes from."""

from __future__ import annotations

from pydantic import AwareDatetime

from ciwm.records.base import Record


class Provenance(Record):
    """Where a map or a manifest comes from, so that it can be shared and trusted.

    `target` is what support was asked about: a manifest's name, or a device type; None without.
    `capture` says how the operators were recorded, with that way's limits in `limits`.
    """

    generated_at: AwareDatetime
    ciwm_version: str
    torch: str
    torch_build: str = ""
    interpreter: str = ""
    repository: str = ""
    revision: str = ""
    target: str | None = None
    capture: str = ""
    limits: tuple[str, ...] = ()
    licence: str = ""
