"""What a comment asks of ciwm: its first line, and nothing below it.

`/ciwm rerun`, `/ciwm waive SERIES [metric=M] [ceiling=8%] [expires=DAY] [issue=URL] REASON`. Only
the first line counts, so that no quotation, code block or hidden text in a comment is a command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

USAGE = (
    "/ciwm rerun",
    "/ciwm waive SERIES [metric=NAME] [ceiling=8%] [expires=2027-01-31] [issue=URL] REASON",
)
_LONGEST = 2_000
_OPTIONS = ("metric", "ceiling", "expires", "issue")
# a series, bare or in the quotes or the code span that it was copied with
_SERIES = re.compile(r"""\s*(?:`([^`]+)`|"([^"]+)"|'([^']+)'|(\S+))(?:\s+|$)""")
_OPTION = re.compile(rf"({'|'.join(_OPTIONS)})=(\S+)\s*")


@dataclass(frozen=True)
class Rerun:
    """Measure the same commit again."""


@dataclass(frozen=True)
class Waive:
    """Accept a regression; what is not stated has a default."""

    series: str
    reason: str
    stated: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mistake:
    """A comment that is for us and asks nothing we know."""

    why: str


Wish = Rerun | Waive | Mistake


def wish_in(body: str) -> Wish | None:
    """What a comment asks for; None where it is not for us."""
    line = body.lstrip("\N{ZERO WIDTH NO-BREAK SPACE}").partition("\n")[0].rstrip()
    if line != "/ciwm" and not line.startswith("/ciwm "):
        return None
    if len(line) > _LONGEST:
        return Mistake(f"the line is longer than {_LONGEST:,} characters")
    verb, _, rest = line.removeprefix("/ciwm").strip().partition(" ")
    if verb == "rerun":
        return Mistake("rerun takes nothing more") if rest.strip() else Rerun()
    if verb == "waive":
        return _waive(rest)
    return Mistake(f"there is no command {verb[:40]}" if verb else "no command is named")


def _waive(rest: str) -> Wish:
    named = _SERIES.match(rest)
    if named is None:
        return Mistake("waive names a series and a reason")
    series = next(group for group in named.groups() if group)
    rest, stated = rest[named.end() :], {}
    while option := _OPTION.match(rest):
        if option[1] in stated:
            return Mistake(f"{option[1]} is stated twice")
        stated[option[1]] = option[2]
        rest = rest[option.end() :]
    if not rest.strip():
        return Mistake("waive states a reason after the series")
    return Waive(series, " ".join(rest.split()), stated)
