"""Writing ciwm-waivers.toml: everything a person wrote in it stays as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ciwm.errors import UsageError
from ciwm.waivers.declared import Waiver, parse_waivers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

DAYS = 60  # how long a waiver counts where nobody says otherwise
_HEADER = re.compile(r"\s*\[\[\s*waiver\s*\]\]\s*(#.*)?")
_NEEDED = "a waiver states series, ceiling, reason, author, issue and expires"
_BEYOND_16_BITS = 0xFFFF


def waiver_of(**stated: Any) -> Waiver:
    """A waiver of what was stated; raises UsageError that names the first part that is wrong."""
    given = {name: value for name, value in stated.items() if value is not None}
    if re.fullmatch(r"\d+(\.\d+)?", str(given.get("ceiling", ""))):
        given["ceiling"] = f"{given['ceiling']}%"  # what else could a bare number be
    try:
        return Waiver.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{where}: {what}" if where else what, _NEEDED) from error


def as_toml(waiver: Waiver) -> str:
    """A waiver as a [[waiver]] table; what hides in a text is written as an escape."""
    absolute = waiver.ceiling_abs is not None
    lines = [
        "[[waiver]]",
        f"series = {_quoted(waiver.series)}",
        *([] if waiver.metric == "*" else [f"metric = {_quoted(waiver.metric)}"]),
        f"ceiling_abs = {waiver.ceiling_abs!r}" if absolute else f"ceiling = {_percent(waiver)}",
        f"reason = {_quoted(waiver.reason)}",
        f"author = {_quoted(waiver.author)}",
        f"issue = {_quoted(waiver.issue)}",
        f"expires = {waiver.expires:%Y-%m-%d}",
    ]
    return "\n".join(lines) + "\n"


def with_waivers(text: str, new: Sequence[Waiver], source: str, today: date) -> str:
    """The file's text with further waivers at its end.

    Raises ConfigError where the file is wrong already, UsageError where one in force is for the
    very same series and metric.
    """
    old = parse_waivers(text.encode(), source)
    for waiver in new:
        for one in old:
            same = (one.series, one.metric) == (waiver.series, waiver.metric)
            if same and one.expires >= today:
                raise UsageError(
                    f"{source} has a waiver of {_quoted(one.series)} {_quoted(one.metric)} already,"
                    f" until {one.expires:%Y-%m-%d}",
                    "change its ceiling or its day there",
                )
    kept = text if not text or text.endswith("\n") else text + "\n"
    longer = "\n".join([*([kept] if kept else []), *map(as_toml, new)])
    return _checked(longer, (*old, *new), source)


def without_waivers(text: str, gone: Sequence[Waiver], source: str) -> str:
    """The file's text without some of its waivers and the comments right above them.

    Raises UsageError where they are not written as [[waiver]] tables.
    """
    old = parse_waivers(text.encode(), source)
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if _HEADER.fullmatch(line.rstrip("\r\n"))]
    if len(starts) != len(old):
        raise UsageError(f"{source}: not every waiver is a [[waiver]] table of its own", _BY_HAND)
    begins = [_with_comments(lines, start) for start in starts]
    ends = [*begins[1:], len(lines)]
    kept = lines[: begins[0]] if begins else lines
    for waiver, begin, end in zip(old, begins, ends, strict=True):
        if waiver not in gone:
            kept += lines[begin:end]
    left = tuple(waiver for waiver in old if waiver not in gone)
    return _checked("".join(kept), left, source)


_BY_HAND = "edit it by hand"


def _with_comments(lines: Sequence[str], start: int) -> int:
    """Where a table begins, the comment lines right above it included."""
    while start and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    return start


def _checked(text: str, wanted: Sequence[Waiver], source: str) -> str:
    """The text, once it reads as the waivers it is meant to hold."""
    if parse_waivers(text.encode(), source) != tuple(wanted):
        raise UsageError(f"{source} cannot be changed without losing something", _BY_HAND)
    return text


def _percent(waiver: Waiver) -> str:
    digits = f"{waiver.ceiling_pct or 0:.9f}".rstrip("0").rstrip(".")
    return f'"{digits}%"'


def _quoted(text: str) -> str:
    """A basic string of TOML in which nothing is hidden."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\U{code:08x}" if code > _BEYOND_16_BITS else f"\\u{code:04x}"
