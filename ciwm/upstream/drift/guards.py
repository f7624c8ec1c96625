"""Code that runs in some versions only, or copes with what is missing: recognised, and noted."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from ciwm.upstream.drift.parsing import as_written, dotted
from ciwm.upstream.drift.summary import is_type_checking

if TYPE_CHECKING:
    from collections.abc import Iterable

_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_VERSION = re.compile(r"version", re.IGNORECASE)
_EXACT = re.compile(r"version_(?:is|eq|equals)$", re.IGNORECASE)


def branch_guards(test: ast.expr) -> tuple[str, str]:
    """Why the body, and why the else branch of a condition may not run at the target; "" if none.

    After `version_is("1.2")` the else branch is what every other version runs: no guard.
    """
    if is_type_checking(test):
        return "only type checkers see it", ""
    plain, negated = test, False
    while isinstance(plain, ast.UnaryOp) and isinstance(plain.op, ast.Not):
        plain, negated = plain.operand, not negated
    if isinstance(plain, ast.Call) and dotted(plain.func).rpartition(".")[2] == "hasattr":
        told = f"behind `{as_written(plain, 80)}`"
        return ("", told) if negated else (told, "")
    if not any(_VERSION.search(name) for name in _names(plain)):
        return "", ""
    told = f"behind the version test `{as_written(test, 80)}`"
    exact = _is_exact(plain)
    if exact is None:
        return told, told
    return ("", told) if negated == exact else (told, "")


def _is_exact(test: ast.expr) -> bool | None:
    """Whether a version test asks for one version (True), or for all but one; None for neither."""
    if isinstance(test, ast.Call) and _EXACT.search(dotted(test.func)):
        return True
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return {ast.Eq: True, ast.NotEq: False}.get(type(test.ops[0]))
    return None


def copes(handlers: Iterable[ast.ExceptHandler]) -> bool:
    """Whether one of the handlers catches what a missing name raises."""
    for handler in handlers:
        if handler.type is None:
            return True
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(dotted(each).rpartition(".")[2] in _CAUGHT for each in types):
            return True
    return False


def suppresses(node: ast.With | ast.AsyncWith) -> bool:
    """Whether a with block suppresses what a missing name raises."""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] == "suppress":
            return any(dotted(each).rpartition(".")[2] in _CAUGHT for each in call.args)
    return False


def _names(node: ast.expr) -> list[str]:
    return [
        each.id if isinstance(each, ast.Name) else each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Name | ast.Attribute)
    ]
