"""Git without the programs that its settings name: a report only reads.

Any command may stand behind a hook or a merge driver, and a report makes thousands of merges.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.git import Repository

_NO_PROGRAMS = (("core.hooksPath", os.devnull), ("core.fsmonitor", "false"))
_DRIVER = re.compile(r"merge\..+\.\w+$", re.DOTALL)  # with its name, which alone is an error
# what says where a repository is and of which kind, which a scratch one says for itself
_OF_THE_PLACE = re.compile(
    r"core\.(?:bare|worktree|repositoryformatversion)$|(?:extensions|include|includeif)\."
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b"}


class Setting(NamedTuple):
    """A setting by its full name; no value is what git takes for true."""

    name: str
    value: str | None


def quiet(repository: Repository) -> Repository:
    """The same repository, whose commands start neither hooks nor a file monitor."""
    return repository.with_settings(_NO_PROGRAMS, keep=True)


def without_drivers(repository: Repository) -> tuple[Setting, ...]:
    """Its settings but for merge drivers; empty where there is no merge driver.

    A driver cannot be unset, only left out: then git merges as text what asks for it.
    """
    listed = repository.run("config", "-z", "--list", check=False).text.split("\0")[:-1]
    parts = [entry.partition("\n") for entry in listed]
    settings = [Setting(name, value if sign else None) for name, sign, value in parts]
    if not any(_DRIVER.match(each.name) for each in settings):
        return ()
    return tuple(
        each
        for each in settings
        if not _DRIVER.match(each.name) and not _OF_THE_PLACE.match(each.name)
    )


def as_file(settings: Iterable[Setting]) -> bytes:
    """Settings in the form of git's configuration files."""
    lines = []
    for name, value in settings:
        section, _, rest = name.partition(".")
        inner, _, key = rest.rpartition(".")
        sub = f' "{_escaped(inner, only=chr(92) + chr(34))}"' if "." in rest else ""
        lines += [f"[{section}{sub}]", key if value is None else f'{key} = "{_escaped(value)}"']
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _escaped(text: str, only: str = "".join(_ESCAPES)) -> str:
    return "".join(_ESCAPES[sign] if sign in only else sign for sign in text)
