"""Text from repositories made harmless in GitHub Markdown.

Names, subjects and file contents come from strangers. None of them may ping people, link to or
mention other issues, forge headings, tables, HTML or our own hidden comment markers, hide itself
behind control or bidirectional characters, or start a bot's slash command.
"""

from __future__ import annotations

import re

# GitHub looks for @names, #numbers and URLs in the *rendered* text, where an entity or a backslash
# has already gone; an invisible word joiner in between stays.
_JOINER = "\u2060"
_REFERENCE = re.compile(r"@(?=\w)|#(?=\d)|(?<=\bGH)-(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
_MARKUP = re.compile(r"[&<>`*\[\]|\\~$#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LINE_START = re.compile(r"(?:[-+=:/]|\d{1,9}[.)])")  # lists, headings, tables, bot commands
_COMMAND = re.compile(r"^/(?=\w)", re.MULTILINE)  # bots read the source of a comment, code included
_EVERY_MARK = re.compile(r"[!-/:-@\[-`{-~]")
_PLAIN_CODE = re.compile(r"[^`|<\\\s](?:[^`|<\\\n]*[^`|<\\\s])?")
# Control, direction and lone surrogate characters, and what takes no room: a name may hide in it,
# or words meant for a program that reads the comment. Joiners (200c, 200d) stay between letters of
# the scripts and emoji that need them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)


def inline(text: str) -> str:
    """Text as one line of plain words: for paragraphs, table cells and <summary> alike."""
    line = " ".join(visible(text, keep="\t\n\r").split())
    line = _REFERENCE.sub(lambda found: f"{found[0]}{_JOINER}", line)
    line = _MARKUP.sub(_entity, line)
    start = _LINE_START.match(line)
    return f"{start[0][:-1]}&#{ord(start[0][-1])};{line[start.end() :]}" if start else line


def code(text: str) -> str:
    """Text as one code span, for paragraphs and table cells; inside <summary> use `inline`."""
    line = visible(text)
    if _PLAIN_CODE.fullmatch(line):
        return f"`{line}`"
    return f"<code>{_EVERY_MARK.sub(_entity, line)}</code>" if line else ""


def fenced(text: str, language: str = "") -> str:
    """Text as a code block whose fence its content cannot close; put empty lines around it."""
    body = visible(text.replace("\r\n", "\n"), keep="\t\n").rstrip("\n")
    body = body.replace("<!--", f"<!{_JOINER}--")
    body = _COMMAND.sub(f"/{_JOINER}", body)
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{re.sub(r'[^A-Za-z0-9_+-]', '', language)}\n{body}\n{fence}"


def visible(text: str, keep: str = "") -> str:
    """Text whose unseen and undecodable characters are shown as escapes."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else _shown(found[0]), text)


def _shown(character: str) -> str:
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:  # noqa: PLR2004  a byte that was not UTF-8 (surrogateescape)
        number -= 0xDC00
    named = {9: "\\t", 10: "\\n", 13: "\\r"}.get(number)
    if number > 0xFFFF:  # noqa: PLR2004
        return f"\\U{number:08x}"
    return named or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")  # noqa: PLR2004


def _entity(found: re.Match[str]) -> str:
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return named.get(found[0], f"&#{ord(found[0])};")
