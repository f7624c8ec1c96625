"""ciwm-waivers.toml: regressions that are accepted, by whom, how far, why and until when.

[[waiver]]
series = "decode-8b/*"          # a glob for the series or its workload
metric = "step_time"            # a glob too; all of them when left out
ceiling = "8%"                  # or ceiling_abs = 12, in the metric's unit
reason = "the new sampler checks for NaN"
author = "@jane"
issue = "https://github.com/acme/fork/issues/12"
expires = 2026-12-31            # the last day on which it counts (a day ends with UTC's)
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator, model_validator

from ciwm.config_section import Section, mistake, read_toml, with_percent
from ciwm.errors import ConfigError
from ciwm.gate_config import matches

FILE_NAME = "ciwm-waivers.toml"
_TEXT = Field(min_length=1, max_length=500)


class Waiver(Section):
    """One accepted regression; everything but the metric has to be said."""

    series: str = _TEXT
    """A glob for the series or its workload."""
    metric: str = "*"
    """A glob for the metric."""
    ceiling_pct: float | None = Field(default=None, gt=0)
    """How far it may go, in percent; also ceiling = "8%"."""
    ceiling_abs: float | None = Field(default=None, gt=0)
    """How far, in the metric's unit, instead."""
    reason: str = _TEXT
    """Why."""
    author: str = _TEXT
    """Who accepts it."""
    issue: str = _TEXT
    """Where it is tracked."""
    expires: date
    """The last day on which it counts; a day ends with UTC's."""

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, data: Any) -> Any:
        return with_percent(data, "ceiling")

    @field_validator("series", "metric", "reason", "author", "issue")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be blank")
        return value

    @model_validator(mode="after")
    def _one_ceiling(self) -> Waiver:
        if (self.ceiling_pct is None) == (self.ceiling_abs is None):
            raise ValueError("state one of ceiling and ceiling_abs")
        return self

    def covers(self, series: str, metric: str, workload: str) -> bool:
        """Whether it is for a metric of a series of a workload."""
        named = matches(series, self.series) or matches(workload, self.series)
        return named and matches(metric, self.metric)


class _File(Section):
    waiver: tuple[Waiver, ...] = ()


def find_waivers(root: Path) -> tuple[Waiver, ...]:
    """The waivers of a checkout; none where it has no such file. Raises ConfigError."""
    path = root / FILE_NAME
    return parse_waivers(path.read_bytes(), str(path)) if path.is_file() else ()


def parse_waivers(data: bytes, source: str) -> tuple[Waiver, ...]:
    """The waivers in a TOML text; raises ConfigError with the one that is wrong."""
    table = read_toml(data, source)
    try:
        return _File.model_validate(table).waiver
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "(top level)"
        what = mistake(first)
        hint = "each [[waiver]] has series, ceiling, reason, author, issue and expires"
        raise ConfigError(f"{source}: {where}: {what}", hint) from error
