"""What strangers' text may not do in our comment; markdown-it is the second opinion on Markdown."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ciwm.report.escape import code, fenced, inline

GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
# Every sign that means something to Markdown or GitHub is drawn far more often than chance would.
HOSTILE = st.text(
    st.one_of(st.sampled_from("`|<>!-[]()#*_~\\&;@:/$=+.1 \n\r\taw\u202e\udc81"), st.characters()),
    max_size=40,
)


class Shown(HTMLParser):
    """The text a reader sees, and the tags it stands in."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.tags: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag if not attrs else f"{tag} with attributes")

    def handle_comment(self, data: str) -> None:
        self.tags.append(f"comment {data}")

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(markdown: str) -> Shown:
    return Shown(GITHUB.render(markdown))


@given(HOSTILE)
def test_inline_text_is_never_more_than_one_plain_paragraph(text: str) -> None:
    escaped = inline(text)
    page = shown(escaped)
    assert page.tags in ([], ["p"])
    assert "\n" not in escaped
    assert page.text.strip() == Shown(escaped).text, "in <summary> it must read the same"


@given(HOSTILE)
def test_inline_text_keeps_to_its_table_cell(text: str) -> None:
    page = shown(f"| a | b |\n| - | - |\n| {inline(text)} | second |")
    assert page.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert page.text.rstrip().endswith("second")


@given(HOSTILE)
def test_code_keeps_to_its_table_cell(text: str) -> None:
    page = shown(f"| a | b |\n| - | - |\n| {code(text)} | second |")
    assert [tag for tag in page.tags if tag != "code"] == [
        *("table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td")
    ]
    assert page.text.rstrip().endswith("second")


@given(HOSTILE)
def test_code_is_one_code_span_in_a_paragraph(text: str) -> None:
    assert shown(f"see {code(text)}").tags == (["p", "code"] if text else ["p"])


@given(st.text("`|<>&*_\\~[]@#a ", min_size=1, max_size=20))
def test_code_shows_exactly_the_text(text: str) -> None:
    assert shown(f"see {code(text)} end").text.strip() == f"see {text} end"


@given(HOSTILE)
def test_a_fence_holds_whatever_it_is_given(text: str) -> None:
    page = shown(f"before\n\n{fenced(text, 'diff')}\n\nafter")
    assert page.tags == ["p", "pre", "code with attributes", "p"]
    assert page.text.endswith("\nafter\n")


@given(HOSTILE)
def test_nothing_pings_refers_links_or_carries_a_marker(text: str) -> None:
    reader = shown(f"x {inline(text)}").text
    assert not re.search(r"@\w|#\d|://|\bwww\.|\bGH-\d", reader, re.IGNORECASE)
    for escaped in (inline(text), code(text), fenced(text)):
        assert "<!--" not in escaped
        escaped.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("[Core] fix *all* the_things (#25252)", "[Core] fix *all* the_things (#\u206025252)"),
        ("thanks @octocat <me@example.org>", "thanks @\u2060octocat <me@\u2060example.org>"),
        ("see https://example.org and GH-7", "see https:\u2060//example.org and GH-\u20607"),
        ("two\nlines\x1b[31m", "two lines\\x1b[31m"),
        ("caf\udce9 \u202etxt", "caf\\xe9 \\u202etxt"),
    ],
)
def test_inline_text_reads_as_it_was_written(text: str, reader: str) -> None:
    assert shown(inline(text)).text.strip() == reader


@pytest.mark.parametrize(
    "command", ["/approve", "- item", "+ item", "1. item", "2) x", "===", "# x"]
)
def test_a_line_cannot_start_as_a_command_list_or_heading(command: str) -> None:
    escaped = inline(command)
    assert not re.match(r"[-+=/#]|\d+[.)]", escaped)
    assert shown(escaped).text.strip() == command


def test_an_ordinary_path_stays_readable_in_the_source() -> None:
    assert code("vllm/v1/worker/gpu_model_runner.py") == "`vllm/v1/worker/gpu_model_runner.py`"


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert fenced("a\n````\nb", "c++") == "`````c++\na\n````\nb\n`````"


def test_windows_line_ends_are_line_ends() -> None:
    assert fenced("a\r\nb\r\n") == "```\na\nb\n```"


@pytest.mark.parametrize(
    "hidden",
    ["\u200b", "\u200d", "\u00ad", "\u2060", "\u2063", "\u3164", "\U000e0041", "\U000e0101"],
)
def test_what_takes_no_room_is_shown(hidden: str) -> None:
    seen = f"decode{ascii(hidden)[1:-1]}-8b"
    assert shown(inline(f"decode{hidden}-8b")).text.strip() == seen
    assert fenced(f"decode{hidden}-8b") == f"```\n{seen}\n```"
    assert hidden not in code(f"decode{hidden}-8b")


@pytest.mark.parametrize(
    "text", ["\U0001f469\u200d\U0001f4bb fixes", "\u0915\u094d\u200d\u0937", "⚠️ 分块预填充"]
)
def test_joiners_and_wide_letters_of_a_script_stay(text: str) -> None:
    assert inline(text) == text
