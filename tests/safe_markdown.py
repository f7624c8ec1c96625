"""What a posted text must not do to its readers, looked for in the text as Markdown has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

_TAGS = {"details", "summary", "sub", "br", "code"}  # what our own reports use
_MARKER = re.compile(r"<!-- ciwm:[\w.-]+ -->")
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# GitHub looks for these in the rendered text, but not inside of code
_REFERENCES = {
    "a mention": re.compile(r"(?<![\w`])@\w"),
    "a reference": re.compile(r"(?<![\w&])#\d|\bGH-\d"),
    "an address": re.compile(r"https?://|\bwww\.", re.IGNORECASE),
}


def check_safe(text: str, links: str) -> None:
    """Fail the test unless the only links begin with `links` and nothing pings or breaks out."""
    assert not _DIRECTIONS.search(text), "a direction mark"
    assert not _CONTROLS.search(text), "a control character"
    assert len(re.findall("<!-- ciwm:", text)) <= 1, "a second marker"
    assert not re.search(r"^/\w", text, re.MULTILINE), "a command to some bot"
    depth = 0
    for token in _tokens(text):
        assert token.type != "image", f"an image: {token.attrs}"
        if token.type == "link_open":
            assert str(token.attrs["href"]).startswith(links), f"a link to {token.attrs['href']}"
        if token.type == "heading_open":
            assert token.tag in ("h3", "h4"), "a heading that is not ours"
        if token.type in ("html_block", "html_inline"):
            depth = _check_html(token.content, depth)
    assert depth == 0, "a fold left open"
    plain = "\n".join(_plain_texts(text)).replace(links, "")
    for name, pattern in _REFERENCES.items():
        found = pattern.search(plain)
        assert not found, f"{name}: {plain[max(0, found.start() - 30) : found.end() + 30]!r}"


def _check_html(html: str, depth: int) -> int:
    rest = _MARKER.sub("", html)
    for closing, tag in re.findall(r"<(/?)([A-Za-z!][\w!-]*)", rest):
        assert tag in _TAGS, f"the tag {tag}"
        if tag == "details":
            depth += -1 if closing else 1
            assert depth in (0, 1, 2), "a fold closed that was not open"
    return depth


def _tokens(text: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        yield token
        yield from token.children or ()


def _plain_texts(text: str) -> Iterator[str]:
    """The texts that GitHub searches for names and addresses: all but code."""
    inside = 0
    for token in _tokens(text):
        if token.type == "html_inline":
            inside += token.content.count("<code>") - token.content.count("</code>")
        elif token.type == "text" and not inside:
            yield token.content
        elif token.type == "html_block":
            yield re.sub(r"<code>.*?</code>|<[^>]*>", "", token.content)
