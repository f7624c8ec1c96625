"""Path classes: which part of the project a path belongs to, by globs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OTHER = "other"


def path_classifier(classes: Mapping[str, Sequence[str]]) -> Callable[[str], str]:
    """A function from path to class name: the first class one of whose globs matches, or OTHER.

    Raises ConfigError for a glob that cannot be one.
    """
    compiled = [(name, _compiled(name, globs)) for name, globs in classes.items() if globs]

    def path_class(path: str) -> str:
        return next((name for name, pattern in compiled if pattern.fullmatch(path)), OTHER)

    return path_class


def _compiled(name: str, globs: Sequence[str]) -> re.Pattern[str]:
    try:
        return re.compile("|".join(glob_pattern(glob) for glob in globs))
    except re.error as error:
        raise ConfigError(
            f"[upstream.classes] {name}: not a glob among {', '.join(globs)}: {error.msg}",
            "use *, ?, ** and sets such as [a-z]",
        ) from error


def glob_pattern(glob: str) -> str:
    """A glob as a regular expression for whole paths from the repository's root.

    `*` and `?` stay inside one folder, `**` spans any number of them, `dir/` means all below it.
    """
    parts = glob.removeprefix("./").lstrip("/").split("/")
    if parts[-1] == "":
        parts[-1] = "**"
    last = len(parts) - 1
    pattern = ""
    for index, part in enumerate(parts):
        if part == "**":
            pattern += ".+" if index == last else "(?:[^/]+/)*"
        else:
            pattern += _segment(part) + ("" if index == last else "/")
    return f"(?s:{pattern})"


def _segment(glob: str) -> str:
    signs = re.findall(r"\[!?\]?[^\]]*\]|\*+|.", glob, re.DOTALL)
    return "".join(_sign(sign) for sign in signs)


def _sign(sign: str) -> str:
    if sign.startswith("*"):
        return "[^/]*"
    if sign == "?":
        return "[^/]"
    if len(sign) > 1:
        negated = sign.startswith("[!")
        members = re.sub(r"([\\\[\]&~|^])", r"\\\1", sign[2 if negated else 1 : -1])
        return f"(?!/)[{'^' if negated else ''}{members}]"
    return re.escape(sign)
