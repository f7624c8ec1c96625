"""A table of the configuration: frozen, checked to the last key, with readable percentages."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class Section(BaseModel):
    """One table; unknown keys, NaN and infinity are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def with_percent(data: Any, name: str = "threshold") -> Any:
    """Accept threshold = "3%" (or 3, in percent) beside threshold_pct = 3."""
    if not isinstance(data, dict) or name not in data:
        return data
    value = data[name]
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value)
        if match is None:
            raise ValueError(f'{name} is a percentage such as "3%", not {value!r}')
        value = float(match[1])
    return {**{k: v for k, v in data.items() if k != name}, f"{name}_pct": value}


def with_seconds(data: Any) -> Any:
    """Accept budget = "20min" beside budget_s = 1200."""
    if not isinstance(data, dict) or "budget" not in data:
        return data
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)\s*", str(data["budget"]))
    if match is None:
        raise ValueError(f'budget is a time such as "20min", not {data["budget"]!r}')
    seconds = float(match[1]) * _SECONDS[match[2]]
    return {**{k: v for k, v in data.items() if k != "budget"}, "budget_s": seconds}
