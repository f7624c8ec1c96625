"""How upstream itself calls what a plugin overrides or replaces."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.drift.parsing import UnparsedError, dotted, parsed

if TYPE_CHECKING:
    from collections.abc import Collection

    from ciwm.upstream.drift.index import Index


class UpstreamCall(NamedTuple):
    """One call in upstream: where, positional arguments (at least), keywords, whether more hide."""

    place: str
    positional: int
    keywords: frozenset[str]
    hides: bool


def upstream_calls(index: Index, names: Collection[str]) -> dict[str, list[UpstreamCall]]:
    """All calls of functions or methods by these names, `super().name()` left out."""
    found: dict[str, list[UpstreamCall]] = {name: [] for name in names}
    if not names:
        return found
    wanted = re.compile(rb"\b(?:" + b"|".join(re.escape(n.encode()) for n in names) + rb")\s*\(")
    paths: dict[str, str] = {m.blob: m.path for m in index.modules.values() if m.path}
    for blob, content in index.tree.contents(paths):
        if content is None or not wanted.search(content):
            continue
        try:
            tree = parsed(content)
        except UnparsedError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (name := _called(node)) in found:
                found[name].append(_call(node, paths[blob]))
    return found


def _called(node: ast.Call) -> str:
    func = node.func
    if isinstance(func, ast.Name):
        return func.id
    if isinstance(func, ast.Attribute):
        inner = func.value
        of_super = isinstance(inner, ast.Call) and dotted(inner.func) == "super"
        return "" if of_super else func.attr
    return ""


def _call(node: ast.Call, path: str) -> UpstreamCall:
    plain = [each for each in node.args if not isinstance(each, ast.Starred)]
    keywords = frozenset(each.arg for each in node.keywords if each.arg is not None)
    hides = len(plain) != len(node.args) or any(each.arg is None for each in node.keywords)
    return UpstreamCall(f"{path}:{node.lineno}", len(plain), keywords, hides)
