"""What the methods of a class set on their first parameter."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.drift.parsing import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_SETTERS = {"register_buffer", "register_parameter", "add_module", "register_module"}


class SelfTarget(NamedTuple):
    """One attribute set on self, with its annotation and the value it is set to, where known."""

    name: str
    line: int
    annotation: ast.expr | None = None
    value: ast.expr | None = None


def self_targets(body: Iterable[ast.stmt], name: str) -> Iterator[SelfTarget]:
    """Attributes that a method's statements set on `name`."""
    waiting = list(body)[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef) or _hides(node, name):
            continue
        if isinstance(node, ast.Expr) and (named := _set_by_call(node.value, name)):
            yield SelfTarget(named, node.lineno)
        for target, value in _targets(node):
            yield from _of_self(node, target, value, name)
        waiting.extend(_inner(node)[::-1])


def _targets(node: ast.stmt) -> list[tuple[ast.expr, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.AnnAssign):
        return [(node.target, node.value)]
    return list(bound_by_blocks(node))


def _of_self(
    node: ast.stmt, target: ast.expr, value: ast.expr | None, name: str
) -> Iterator[SelfTarget]:
    annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
    for part in parts_of(target):
        yield from _of_self(node, part, None, name)
    if isinstance(target, ast.Attribute) and dotted(target.value) == name:
        yield SelfTarget(target.attr, node.lineno, annotation, value)


def parts_of(target: ast.expr) -> list[ast.expr]:
    """The targets in a tuple or behind a star; none for a plain one."""
    if isinstance(target, ast.Starred):
        return [target.value]
    return target.elts if isinstance(target, ast.Tuple | ast.List) else []


def _hides(node: ast.stmt, name: str) -> bool:
    """Whether a function within has a parameter of the name, which then is not the outer one."""
    if not isinstance(node, FunctionNode):
        return False
    given = node.args
    return any(a.arg == name for a in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _inner(node: ast.stmt) -> list[ast.stmt]:
    """The statements that a statement holds."""
    found: list[ast.stmt] = []
    for part in ("body", "orelse", "finalbody"):
        found += getattr(node, part, ())
    for part in ("handlers", "cases"):
        for branch in getattr(node, part, ()):
            found += branch.body
    return found


def bound_by_blocks(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """What a for, with or match statement binds, with the value where it is one."""
    if isinstance(node, ast.For | ast.AsyncFor):
        yield node.target, None
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if item.optional_vars is not None:
                yield item.optional_vars, None  # __enter__ may give anything
    elif isinstance(node, ast.Match):
        for each in (part for case in node.cases for part in ast.walk(case.pattern)):
            bound = each.rest if isinstance(each, ast.MatchMapping) else getattr(each, "name", None)
            if bound:
                yield ast.Name(bound), None


def _set_by_call(call: ast.expr, name: str) -> str:
    """The attribute set by `self.register_buffer("x", ...)` or `setattr(self, "x", ...)`."""
    if not isinstance(call, ast.Call):
        return ""
    func, arguments = dotted(call.func), call.args
    if func.partition(".")[0] == name and func.rpartition(".")[2] in _SETTERS and arguments:
        named = arguments[0]
    elif func == "setattr" and len(arguments) > 1 and dotted(arguments[0]) == name:
        named = arguments[1]
    else:
        return ""
    return named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else ""
