"""Hostile reports in a real browser: the rendered comment holds nothing live but what we made."""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.errors import UsageError
from ciwm.records import BumpReport, parse_record
from ciwm.report.bump_markdown import comment_markdown, summary_markdown
from tests.browser import page, run_in
from tests.golden.cases import CASES, all_green, forty_wrong, head_does_not_build

if TYPE_CHECKING:
    from collections.abc import Callable

ATTACKS = {
    "ping": "@everyone @acme/maintainers look, owner/repo#1 #12 GH-7",
    "script": "<script>document.title='pwned'</script><img src=x onerror=document.title='pwned'>",
    "table": "a | b | c\n| - | - | - |\n| forged | ✅ | 0% |",
    "comment": "--> <!-- ciwm:bump --> <!-- hidden",
    "heading": "\n\n# ✅ Merge not blocked\n\nForged\n======\n",
    "details": "</summary></details></td></table></pre></code><details open><h1>forged</h1>",
    "fence": "```\n\n# forged\n\n~~~\n````\n\n<h1>forged</h1>\n",
    "direction": "\u202egnp.exe\u202c \u2066hidden\u2069 \u200f\x1b[31m\x00",
    "link": "[click](javascript:alert(1)) https://evil.example www.evil.example ![x](http://evil/x)",
    "list": "- [x] approved\n1. forged\n> quoted\n***\n---\n",
    "entity": "&lt;script&gt; &#60;b&#62; &copy; \\<b> *bold* _it_ ~~gone~~ $x$ `code`",
}
# everything a reader or GitHub could take for live, found in the loaded page
LOOK = """[...document.querySelectorAll('body > article')].map(root => {
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_ALL);
  const found = {tags: [], comments: [], loose: [], attributes: [], links: [],
                 title: document.title};
  let node;
  while (node = walk.nextNode()) {
    if (node.nodeType === Node.COMMENT_NODE) found.comments.push(node.data);
    if (node.nodeType === Node.TEXT_NODE && !node.parentElement.closest('code, pre'))
      found.loose.push(node.data);
    if (node.nodeType === Node.ELEMENT_NODE) {
      found.tags.push(node.tagName);
      for (const attribute of node.attributes) found.attributes.push(attribute.name);
      if (node.href) found.links.push(node.href);
    }
  }
  return found;
})"""
# what GitHub makes live in text outside code; a word joiner behind the sign stops it
LIVE = re.compile(r"@\w|#\d|\bGH-\d|://|\bwww\.", re.IGNORECASE)
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
REPORTS: tuple[Callable[[], BumpReport], ...] = (forty_wrong, head_does_not_build, all_green)


def texts(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a record's JSON holds text."""
    if isinstance(data, str):
        return [path]
    inner = data.items() if isinstance(data, dict) else enumerate(data)
    return [
        found
        for key, value in inner
        if isinstance(value, (dict, list, str))
        for found in texts(value, (*path, key))
    ]


@functools.cache
def free_texts(build: Callable[[], BumpReport]) -> tuple[str, list[tuple[Any, ...]]]:
    """A report's JSON, and where its schema lets any text stand."""
    data = json.loads(build().to_json())
    free = []
    for path in texts(data):
        before = put(data, path, "plain words")
        try:
            parse_record(json.dumps(data), BumpReport, source="hostile")
        except UsageError:
            put(data, path, before)
        else:
            free.append(path)
    return json.dumps(data), free


def put(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Set the value at a path and return the one before."""
    for key in path[:-1]:
        data = data[key]
    before, data[path[-1]] = data[path[-1]], value
    return before


def overwritten(build: Callable[[], BumpReport], text: str) -> BumpReport:
    """The report with this text wherever its schema lets any text stand."""
    original, free = free_texts(build)
    data = json.loads(original)
    for path in free:
        put(data, path, text)
    return parse_record(json.dumps(data), BumpReport, source="hostile")


def seen(*comments: str) -> list[dict[str, Any]]:
    """What is found in each comment, all of them on one page."""
    found: list[dict[str, Any]] = run_in(page(*comments), LOOK)
    assert len(found) == len(comments)
    return found


def alarming(found: dict[str, Any]) -> list[str]:
    return [text for text in found["loose"] if LIVE.search(text) or INVISIBLE.search(text)]


@pytest.mark.parametrize("build", REPORTS, ids=lambda build: build.__name__)
def test_hostile_text_makes_nothing_live(build: Callable[[], BumpReport]) -> None:
    tried = ["plain words", *ATTACKS.values()]
    plain, *hostile = seen(*(comment_markdown(overwritten(build, text)) for text in tried))
    for name, found in zip(ATTACKS, hostile, strict=True):
        assert found["tags"] == plain["tags"], name
        assert_nothing_live(found, plain, name)


@pytest.mark.parametrize("render", [comment_markdown, summary_markdown])
def test_all_attacks_in_one_text_make_nothing_live(render: Callable[[BumpReport], str]) -> None:
    everything = " ".join(ATTACKS.values())
    tried = ("plain words", everything, "\n".join([everything] * 100))
    plain, *hostile = seen(*(render(overwritten(forty_wrong, text)) for text in tried))
    for found in hostile:
        # long text leaves room for fewer rows and hunks, but not for another kind of element
        assert set(found["tags"]) <= set(plain["tags"])
        assert_nothing_live(found, plain, "all attacks")


def assert_nothing_live(found: dict[str, Any], plain: dict[str, Any], name: str) -> None:
    assert found["links"] == plain["links"], name
    assert found["comments"] == [], name
    assert set(found["attributes"]) <= {"style", "href", "class"}, name
    assert found["title"] == "", name
    assert alarming(found) == [], name


def test_at_most_three_tables_stand_open() -> None:
    opened = run_in(
        page(*(comment_markdown(build()) for build in CASES.values())),
        "[...document.querySelectorAll('article')].map(article => "
        "[...article.querySelectorAll('table')].filter(t => !t.closest('details')).length)",
    )
    assert len(opened) == len(CASES)
    assert max(opened) <= 3


def test_this_browser_would_have_seen_an_attack() -> None:
    (ping,), (hidden,) = seen(ATTACKS["ping"]), seen(ATTACKS["direction"])
    assert alarming(ping)
    assert alarming(hidden)
    (found,) = seen("\n\n".join(ATTACKS.values()))
    assert found["title"] == "pwned"
    assert found["comments"]
    assert {"H1", "IMG"} <= set(found["tags"])
