"""Signatures read from sources against those of the same functions in Python."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from ciwm.upstream.drift.acceptance import refusals
from ciwm.upstream.drift.callables import bound, python_signature
from ciwm.upstream.drift.summary import signature_of, summary_of
from ciwm.upstream.drift.uses import CallShape

if TYPE_CHECKING:
    from collections.abc import Callable


@st.composite
def parameters(draw: Callable[[Any], Any]) -> str:
    """The text between the parentheses of some def."""
    names: list[str] = draw(st.permutations(list("abcdef")))
    count = draw(st.integers(0, 4))
    plain = list(names[:count])
    first_default = draw(st.integers(0, count))
    parts = [n if i < first_default else f"{n}=1" for i, n in enumerate(plain)]
    if parts and draw(st.booleans()):
        parts.insert(draw(st.integers(1, len(parts))), "/")
    keyword = [n if draw(st.booleans()) else f"{n}=2" for n in names[count : count + 2]]
    if draw(st.booleans()):
        parts.append("*rest")
    elif keyword:
        parts.append("*")
    parts += keyword if parts and parts[-1] in ("*", "*rest") else []
    if draw(st.booleans()):
        parts.append("**more")
    return ", ".join(parts)


def real(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(f"def f({text}): ...", names)  # noqa: S102  Python's own opinion of our text
    return names["f"]


def ours(text: str) -> Any:
    [node] = ast.parse(f"def f({text}): ...").body
    assert isinstance(node, ast.FunctionDef)
    return signature_of(node.args)


@given(parameters())
def test_parameters_kinds_and_defaults_are_those_python_sees(text: str) -> None:
    read = python_signature(ours(text))
    assert read is not None
    expected = inspect.signature(real(text)).parameters.values()
    assert [(p.name, p.kind) for p in read.parameters.values()] == [
        (p.name, p.kind) for p in expected
    ]
    assert [p.default is p.empty for p in read.parameters.values()] == [
        p.default is p.empty for p in expected
    ]


@given(parameters(), st.integers(0, 5), st.sets(st.sampled_from("abcdefg"), max_size=3))
def test_a_call_binds_when_python_takes_it(text: str, positional: int, keywords: set[str]) -> None:
    outcome = bound(ours(text), CallShape(positional, tuple(sorted(keywords))))
    try:
        real(text)(*range(positional), **dict.fromkeys(keywords, 0))
    except TypeError:
        assert isinstance(outcome, str)
    else:
        assert not isinstance(outcome, str)


@given(parameters(), parameters(), st.data())
def test_a_replacement_without_refusals_takes_every_call_of_the_original(
    replacement: str, original: str, data: st.DataObject
) -> None:
    if "*rest" in original or "**more" in original:
        return  # it may be called in any way
    if refusals(ours(replacement), ours(original)):
        return
    named = [p for p in ours(original) if p.kind in (0, 1, 3)]
    places = [p for p in named if p.kind in (0, 1)]
    count = data.draw(st.integers(0, len(places)))
    keywords = {p.name for p in named if p.kind == 3 or (p.kind == 1 and p not in places[:count])}
    given_by_name = {n for n in sorted(keywords) if data.draw(st.booleans())}
    shape = CallShape(count, tuple(sorted(given_by_name)))
    if not isinstance(bound(ours(original), shape), str):
        assert not isinstance(bound(ours(replacement), shape), str)


def test_what_methods_set_on_self_belongs_to_the_class() -> None:
    source = (
        "class A:\n"
        "    def __init__(self, config: Config, size=1):\n"
        "        self.config = config\n"
        "        self.a, self.b = 1, 2\n"
        "        if size:\n"
        "            self.made = Made()\n"
        "        with open('x') as self.file:\n            pass\n"
        "        for self.item in ():\n            pass\n"
        "        self.register_buffer('kept', None)\n"
        "        setattr(self, 'named', 1)\n"
        "        other.not_ours = 1\n"
    )
    names = summary_of(ast.parse(source), source.encode()).names
    found = {name.removeprefix("A."): rows[0].type for name, rows in names.items() if "." in name}
    assert found == {
        "__init__": "",
        "config": "Config",
        "a": "",
        "b": "",
        "made": "Made()",
        "file": "",
        "item": "",
        "kept": "",
        "named": "",
    }
