"""A table of the configuration: frozen, checked to the last key, with readable percentages."""

from __future__ import annotations

import re
import sys
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict

from ciwm.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class Section(BaseModel):
    """One table; unknown keys, NaN and infinity are errors."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        defer_build=True,
    )


def section_of(annotation: Any) -> type[Section] | None:
    """The table that a key of this type holds, alone, in a list or by name; None where none is."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    return next(filter(None, map(section_of, get_args(annotation))), None)


def with_percent(data: Any, name: str = "threshold") -> Any:
    """Accept threshold = "3%" (or 3, in percent) beside threshold_pct = 3."""
    if not isinstance(data, dict) or name not in data:
        return data
    value = data[name]
    _refuse_twice(data, name, f"{name}_pct")
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)
        if match is None:
            raise ValueError(f'{name} is a percentage such as "3%", not {value!r}')
        value = float(match[1])
    return {**{k: v for k, v in data.items() if k != name}, f"{name}_pct": value}


def with_seconds(data: Any, name: str = "budget") -> Any:
    """Accept budget = "20min" beside budget_s = 1200."""
    if not isinstance(data, dict) or name not in data:
        return data
    _refuse_twice(data, name, f"{name}_s")
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)\s*", str(data[name]))
    if match is None:
        raise ValueError(f'{name} is a time such as "20min", not {data[name]!r}')
    seconds = float(match[1]) * _SECONDS[match[2]]
    return {**{k: v for k, v in data.items() if k != name}, f"{name}_s": seconds}


def _refuse_twice(data: dict[str, Any], *names: str) -> None:
    if all(name in data for name in names):
        raise ValueError(f"state {' or '.join(names)}, not both")


def mistake(error: Any) -> str:
    """What is wrong with one value, of an error that pydantic details, as TOML has it."""
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "tuple_type" and isinstance(error["input"], dict):
        return f"there may be several: write [[{where}]], in two brackets"
    known = {
        "tuple_type": "write a list, in [brackets]",
        "model_type": "it is a table, not a value",
    }
    told: str = error["msg"].removeprefix("Value error, ")
    return known.get(error["type"], told)


def read_toml(data: bytes, source: str) -> dict[str, Any]:
    """The table of a TOML text, without a NUL in it; raises ConfigError."""
    try:
        table: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
    except ValueError as error:  # also bytes that are no text, and numbers of 5000 digits
        raise ConfigError(f"{source} is not TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{source} is not TOML we read: it is nested too deep") from error
    where = _nul(table)
    if where is not None:
        raise ConfigError(f"{source}: {where} holds a NUL character")
    return table


def _nul(value: Any, path: str = "") -> str | None:
    """Where a text holds a NUL, which no path, command or variable can."""
    if isinstance(value, str):
        return path if "\0" in value else None
    below: Any = ()
    if isinstance(value, dict):
        if any("\0" in key for key in value):
            return f"a key of {path or 'the top level'}"
        below = ((f"{path}.{key}" if path else key, part) for key, part in value.items())
    elif isinstance(value, list):
        below = ((f"{path}.{index}", part) for index, part in enumerate(value))
    return next((found for name, part in below if (found := _nul(part, name))), None)
