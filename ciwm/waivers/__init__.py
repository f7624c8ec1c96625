"""Regressions that are accepted: read from ciwm-waivers.toml, and written into it."""

from ciwm.waivers.declared import FILE_NAME, Waiver, find_waivers, parse_waivers
from ciwm.waivers.writing import DAYS, as_toml, waiver_of, with_waivers, without_waivers

__all__ = [
    "DAYS",
    "FILE_NAME",
    "Waiver",
    "as_toml",
    "find_waivers",
    "parse_waivers",
    "waiver_of",
    "with_waivers",
    "without_waivers",
]
