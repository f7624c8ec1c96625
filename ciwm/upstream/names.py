"""Names from git that a UTF-8 record can hold, whatever bytes they are made of.

Git's text reaches us with undecodable bytes as surrogates (`surrogateescape`), which neither JSON
nor a terminal takes.
"""

from __future__ import annotations

import re

_UNDECODABLE = re.compile("[\udc80-\udcff]")
_NEEDS_QUOTES = re.compile('[\x00-\x1f\x7f"\\\\\udc80-\udcff]')
_ESCAPED = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_C_NAMES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


def readable_path(path: str) -> str:
    """A path as git prints it with core.quotePath=false; bytes that are no UTF-8 in octal too.

    Lossless: what does not start with a double quote is the path itself, and git's own commands
    (`git hash-object --stdin-paths`, say) take the quoted form back.
    """
    if not _NEEDS_QUOTES.search(path):
        return path
    return f'"{_NEEDS_QUOTES.sub(_c_escape, path)}"'


def raw_path(path: str) -> str:
    """The path that `readable_path` made readable, undecodable bytes as surrogates."""
    if not path.startswith('"'):
        return path
    return _ESCAPED.sub(_plain, path[1:-1])


def readable_text(text: str) -> str:
    r"""An author or subject: bytes that are no UTF-8 as \xNN; the sha leads to the original."""
    return _UNDECODABLE.sub(lambda found: f"\\x{ord(found[0]) - 0xDC00:02x}", text)


def _c_escape(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number >= 0xDC80:  # noqa: PLR2004  the first surrogate that stands for a byte
        number -= 0xDC00
    return "\\" + _C_NAMES.get(number, f"{number:03o}")


def _plain(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) == 1:
        return chr(next(number for number, letter in _C_NAMES.items() if letter == escape))
    number = int(escape, 8)
    return chr(number + 0xDC00 if number >= 0x80 else number)  # noqa: PLR2004  ASCII ends
