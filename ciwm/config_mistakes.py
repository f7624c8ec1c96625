"""A mistake in the configuration as one clear line, and the key that was meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from ciwm.config_section import Section, mistake, section_of
from ciwm.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import ValidationError


def explained(error: ValidationError, source: str, whole: type[Section], table: Any) -> ConfigError:
    """The first mistake in a configuration `table` whose tables `whole` holds."""
    first = error.errors(include_url=False)[0]
    where = _where(first["loc"], table) or "(top level)"
    if first["type"] == "extra_forbidden":
        return ConfigError(f"{source}: unknown key {where}", _suggestion(first["loc"], whole))
    return ConfigError(f"{source}: {where}: {mistake(first)}")


def _where(path: tuple[int | str, ...], table: Any) -> str:
    """The keys that lead to a value, and of an entry in a list its id where it has one."""
    parts: list[str] = []
    for key in path:
        try:
            table = table[key]
        except (KeyError, IndexError, TypeError):
            table = None  # a key that lacks, or pydantic's own name for an alternative
        name = table.get("id") if isinstance(key, int) and isinstance(table, dict) else None
        parts.append(name if isinstance(name, str) and name.isprintable() and name else str(key))
    return ".".join(parts)


def _suggestion(where: tuple[int | str, ...], whole: type[Section]) -> str:
    """The key of the same table that was meant, or where a key of that name belongs."""
    *path, key = where
    section: type[Section] | None = whole
    for name in path:
        if section is not None and name in section.model_fields:
            section = section_of(section.model_fields[str(name)].annotation)
    if section is None:
        return ""
    homes = [
        name
        for name, field in whole.model_fields.items()
        if (table := section_of(field.annotation)) and key in _keys(table)
    ]
    if homes:
        return f"{key} is a key of [{homes[0]}]"
    close = difflib.get_close_matches(str(key), _keys(section), n=1)
    return f"did you mean {close[0]}?" if close else ""


def _keys(section: type[Section]) -> list[str]:
    """The keys of a table, and the readable forms of those with a unit."""
    readable = {"threshold_pct", "threshold_p99_pct", "ceiling_pct", "build_growth_pct"}
    readable |= {"budget_s", "build_limit_s", "build_growth_floor_s"}
    names = list(section.model_fields)
    return [*names, *(name.rpartition("_")[0] for name in names if name in readable)]
